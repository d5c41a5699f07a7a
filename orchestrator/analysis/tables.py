"""The tables of a summary as typed rows; plain values only, so that anything can print, plot or store them."""

from dataclasses import dataclass, field, fields

from orchestrator.analysis.estimand import Estimand, Number
from orchestrator.analysis.integrity import Finding


@dataclass(frozen=True, slots=True)
class ArmName:
    """One arm of one suite."""

    suite: str
    agent: str
    resources: str
    lane: str

    @property
    def label(self) -> str:
        return f"{self.agent} / {self.resources}" + ("" if self.lane == "live" else f" / {self.lane}")


@dataclass(frozen=True, slots=True)
class ArmRow:
    """A statistic of one arm. `quoted`: the interval to print where several methods stand side by side."""

    arm: ArmName
    number: Number
    quoted: bool
    estimand: Estimand


@dataclass(frozen=True, slots=True)
class CurveRow:
    """One point of a pass@k or pass^k curve: pointwise interval in `number`, simultaneous band beside it."""

    arm: ArmName
    k: int
    number: Number
    band_low: float | None
    band_high: float | None
    estimand: Estimand


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One task under one arm. kind: flaky, never solved, always solved, or no verdict."""

    arm: ArmName
    task: str
    task_cluster: str | None
    n: int
    c: int
    score: float | None
    kind: str
    cost_usd: float | None
    infrastructure_attempts: int
    suspect: int
    statuses: str


@dataclass(frozen=True, slots=True)
class RunRow:
    """One repeat of one wave as a run over all tasks."""

    arm: ArmName
    wave: int
    day: str
    repeat: int
    tasks: int
    score: float | None


@dataclass(frozen=True, slots=True)
class RunSummaryRow:
    """How runs of one arm differ, and how they would if trials were independent.

    p_value: two-sided shuffle test, too even being as suspicious as too uneven; p_uneven: of that side alone.
    """

    arm: ArmName
    runs: int
    lowest: float | None
    highest: float | None
    sd_observed: float | None
    sd_expected: float | None
    sd_expected_unbiased: float | None
    p_value: float | None
    p_uneven: float | None
    smallest_difference: float | None
    reason: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class VarianceRow:
    """One part of the variance of an arm's score."""

    arm: ArmName
    part: str
    unbiased: float | None
    plug_in: float | None
    share: float | None
    note: str | None


@dataclass(frozen=True, slots=True)
class DayRow:
    """The score of one arm on one day or wave, over the tasks of every day, or the mean over days."""

    arm: ArmName
    day: str
    wave: int
    number: Number
    estimand: Estimand


@dataclass(frozen=True, slots=True)
class FactorRow:
    """Variance parts of days, nodes or hours, crossed with tasks, and the mean over both; sentence: its estimand."""

    arm: ArmName
    factor: str
    levels: int
    part: str
    estimate: float | None
    low: float | None
    high: float | None
    note: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """Two arms, or one arm under two conditions, paired by task: second less first.

    flips: sign patterns behind p_value. p_all_pairs: max-T over all pairs of arms (pass@1). p_equivalent,
    p_not_inferior: of the tests against the declared margin, the latter that the second is no worse.
    """

    first: str
    second: str
    suite: str
    statistic: str
    number: Number
    p_value: float | None
    p_adjusted: float | None
    adjustment: str
    helped: int
    hurt: int
    tied: int
    correlation: float | None
    flips: int | None
    p_all_pairs: float | None
    p_equivalent: float | None
    p_not_inferior: float | None
    equivalence: str
    marks: str
    estimand: Estimand
    sentence: str


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """A rate or score of one arm by scoring rule, with counts and bounds. quantity names which."""

    arm: ArmName
    quantity: str
    rule: str
    number: Number
    trials: int
    count: int
    bound_low: float | None
    bound_high: float | None
    estimand: Estimand


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One thing asked of one or several arms: the number, its test, the verdict and all of it in a sentence."""

    suite: str
    subject: str
    quantity: str
    number: Number
    p_value: float | None
    p_adjusted: float | None
    verdict: str
    estimand: Estimand
    sentence: str


@dataclass(frozen=True, slots=True)
class RankRow:
    """Where an arm stands among all arms. groups: numbers of the groups it is in, whose arms are not told apart."""

    arm: ArmName
    mean: float
    rank_best: int
    rank_worst: int
    groups: str
    flips: int
    estimand: Estimand
    sentence: str


@dataclass(frozen=True, slots=True)
class CostRow:
    """What an arm cost and how long it took.

    frontier_place: on, dominated or open, by the share of resamples; frontier_rival: who dominates it most often.
    """

    arm: ArmName
    per_solved: Number
    total_usd: float | None
    cost_unknown: int
    attempts: int
    passed: int
    cost_per_trial_usd: float | None
    median_s: float | None
    p90_s: float | None
    median_turns: float | None
    p90_turns: float | None
    median_tokens: float | None
    p90_tokens: float | None
    on_frontier: bool | None
    frontier_share: float | None
    frontier_place: str | None
    frontier_rival: str | None
    estimand: Estimand


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge against the tests, for one arm and judge version."""

    arm: ArmName
    judge_version: str
    trials: int
    quantity: str
    number: Number
    estimand: Estimand


@dataclass(frozen=True, slots=True)
class Provenance:
    """From what, how and by what the summary was made."""

    summary_id: str
    roots: tuple[str, ...]
    rows: int
    cells: int
    data_hash: str
    seed: int
    rule: str
    replicates: int
    version: str
    schema_version: int
    first_day: str
    last_day: str
    selection: str


@dataclass(frozen=True, slots=True)
class Summary:
    """All tables of one aggregation."""

    provenance: Provenance
    arms: tuple[ArmRow, ...] = ()
    curves: tuple[CurveRow, ...] = ()
    tasks: tuple[TaskRow, ...] = ()
    runs: tuple[RunRow, ...] = ()
    run_summaries: tuple[RunSummaryRow, ...] = ()
    variance: tuple[VarianceRow, ...] = ()
    days: tuple[DayRow, ...] = ()
    factors: tuple[FactorRow, ...] = ()
    comparisons: tuple[ComparisonRow, ...] = ()
    resources: tuple[ResourceRow, ...] = ()
    costs: tuple[CostRow, ...] = ()
    judges: tuple[JudgeRow, ...] = ()
    ranks: tuple[RankRow, ...] = ()
    resource_effects: tuple[EffectRow, ...] = ()
    drift: tuple[EffectRow, ...] = ()
    judge_effects: tuple[EffectRow, ...] = ()
    integrity: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = field(default=())


TABLES: tuple[str, ...] = tuple(item.name for item in fields(Summary) if item.name not in ("provenance", "notes"))
