"""Statistics of many trials per task: arrays in, frozen named results out; no table, no files, no global state.

Every public name of the modules below can be imported from here, and loads its module then and not before. Functions
named like their module (bootstrap, crossed, drift, frontier, grim) are imported from it.
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "bayes": (
        "HierarchicalFit",
        "Posterior",
        "beta_tail",
        "hierarchical",
        "posterior_pass_hat_k",
        "rule_of_three",
    ),
    "binomial": (
        "beta_interval",
        "clopper_pearson",
        "normal_quantile",
        "t_quantile",
        "wilson",
    ),
    "bootstrap": (
        "Band",
        "Bootstrap",
        "band",
        "bca",
        "bootstrap_curve",
        "bootstrap_ratio",
        "percentile",
    ),
    "corrected": (
        "Powered",
        "prediction_powered",
        "rogan_gladen",
    ),
    "cost": (
        "Middle",
        "cost_per_solved",
        "middle",
    ),
    "crossed": (
        "Crossed",
        "Part",
    ),
    "days": (
        "Levels",
        "TwoWay",
        "level_scores",
        "two_way_clustered",
    ),
    "designs": (
        "Cheapest",
        "Design",
        "Prices",
        "RatePool",
        "best_repeats",
        "budget",
        "cheapest_design",
        "design_error",
        "estimator_variance",
    ),
    "drift": (
        "Drift",
        "JudgeNoise",
        "LanesApart",
        "Wave",
        "judge_noise",
        "lanes_apart",
        "spending",
        "two_se_alarm",
        "two_se_false_alarms",
    ),
    "equivalence": (
        "Equivalence",
        "non_inferior",
        "tost",
    ),
    "frontier": (
        "Frontier",
        "FrontierArm",
    ),
    "grim": (
        "Grim",
        "Inversion",
        "invert_pass_at",
        "invert_pass_hat",
        "prints",
    ),
    "intervals": (
        "ClusterError",
        "Quoted",
        "cluster_error",
        "korn_graubard",
        "mean_interval",
        "pooled_wilson",
        "quoted_interval",
        "these_tasks_interval",
        "wilson_effective",
    ),
    "judge_arms": (
        "EqualTreatment",
        "JudgeGap",
        "equal_treatment",
        "gap_seen",
    ),
    "judges": (
        "Agreement",
        "agreement",
        "cohen_kappa",
    ),
    "multiple": (
        "AllPairs",
        "Pair",
        "all_pairs",
        "benjamini_hochberg",
        "benjamini_yekutieli",
        "bonferroni",
        "holm",
        "not_apart",
        "rank_intervals",
    ),
    "noise": (
        "FloorCheck",
        "below_noise_floor",
        "noise_floor",
    ),
    "paired": (
        "Paired",
        "paired_pass",
        "paired_score",
        "paired_values",
    ),
    "passk": (
        "Curve",
        "curve",
        "pass_at_k",
        "pass_at_k_task",
        "pass_hat_k",
        "pass_hat_k_task",
        "subset_ratio",
        "task_curve",
        "task_values",
    ),
    "planning": (
        "Noise",
        "Power",
        "SampleSize",
        "noise_between",
        "normal_power",
        "sign_flip_test",
        "simulated_power",
        "smallest_difference",
        "tasks_needed",
    ),
    "resources": (
        "Changing",
        "Contrast",
        "Split",
        "Trend",
        "changing_tasks",
        "contrasts",
        "neutral_band",
        "setting_rates",
        "split_gain",
        "trend",
    ),
    "runs": (
        "RunToRun",
        "ShuffleTest",
        "run_to_run",
        "shuffle_test",
    ),
    "sample": (
        "Estimand",
        "Estimate",
        "Interval",
        "describe",
    ),
    "sequential": (
        "Betting",
        "betting",
        "mixture_e_value",
        "rate_sequence",
    ),
    "signflip": (
        "SignFlip",
        "sign_flip",
        "sign_test",
    ),
    "tasks": (
        "TaskLists",
        "task_lists",
    ),
    "variance": (
        "VarianceParts",
        "trial_variances",
        "variance_parts",
    ),
}
_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"orchestrator.stats has no {name!r}.")
    return getattr(import_module(f"orchestrator.stats.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_MODULE_OF)
