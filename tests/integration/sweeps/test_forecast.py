"""`passhat plan`: what it says of a sweep's power is what the comparison's own test then does."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from orchestrator.config import parse_sweep
from orchestrator.core.columns import empty_row
from orchestrator.execution.forecast import forecast
from orchestrator.execution.freeze import freeze
from orchestrator.stats import paired_pass
from orchestrator.storage.root import Root
from orchestrator.storage.rows import to_table
from suites.loading import load_suite

TASKS, REPEATS, EXPERIMENTS = 24, 4, 400
RATES = {"a": np.linspace(0.2, 0.9, TASKS), "b": np.clip(np.linspace(0.2, 0.9, TASKS) - 0.15, 0.0, 1.0)}


def sweep_text(suite: Path) -> str:
    return f"""name = "power"
suite = "{suite}"
repeats = {REPEATS}
agents = [
    {{ name = "a", kind = "command", argv = ["a"] }},
    {{ name = "b", kind = "command", argv = ["b"] }},
]
"""


def earlier_rows(root: Path, frozen) -> None:
    """Rows whose rates are exactly RATES, in hundredths."""
    import pyarrow.parquet as pq

    rows = []
    for agent, rates in RATES.items():
        for task, rate in zip(sorted(frozen.tasks), rates, strict=True):
            for number in range(100):
                passed = number < round(100 * rate)
                rows.append(
                    empty_row()
                    | {
                        "schema_version": 1, "sweep": "earlier", "suite": frozen.plan.suite,
                        "suite_digest": frozen.plan.suite_digest, "task": task, "agent": agent, "resources": "1x",
                        "agent_digest": frozen.plan.agent_digests[agent], "lane": "live", "arm": f"{agent}/1x/live",
                        "wave": 0, "day": "2026-01-01", "repeat": number, "attempt": 0, "final": True,
                        "trial_key": f"{agent}{task}{number}", "attempt_id": f"{agent}{task}{number}-0",
                        "status": "PASSED" if passed else "FAILED", "origin": "agent", "passed": passed,
                        "suspect": False, "started_at": "2026-01-01T00:00:00+00:00",
                        "finished_at": "2026-01-01T00:01:00+00:00", "total_s": 60.0, "cost_usd": 0.5,
                    }
                )  # fmt: skip
    folder = root / "trials" / "suite=s" / "agent=x" / "resources=1x" / "day=2026-01-01"
    folder.mkdir(parents=True)
    pq.write_table(to_table(rows), folder / "part-earlier-000000.parquet")


def test_the_power_that_plan_gives_is_the_rate_at_which_the_comparison_finds_it(tmp_path: Path, task_folder) -> None:
    for number in range(TASKS):
        task_folder(tmp_path / "suite" / f"t{number:02d}")
    root = Root(tmp_path / "results")
    suite = load_suite(tmp_path / "suite")
    frozen = freeze(parse_sweep(sweep_text(tmp_path / "suite"), "power"), suite, root, datetime.now(UTC))
    earlier_rows(tmp_path / "results", frozen)
    seen = forecast(frozen, root, cpus=2, memory_mb=8000.0)
    (pair,) = seen.comparisons
    assert pair.source == "rates of earlier rows"
    assert abs(pair.difference - 0.15) < 0.01

    rng = np.random.default_rng(5)
    n = np.full(TASKS, REPEATS)
    found = 0
    for _ in range(EXPERIMENTS):
        counts = [rng.binomial(REPEATS, rates) for rates in RATES.values()]
        p = paired_pass(n, counts[0], n, counts[1], rng=rng, flips=999).test.p
        found += p is not None and p <= 0.05
    share = found / EXPERIMENTS
    assert pair.simulated_power is not None
    assert abs(share - pair.simulated_power) < 4 * (0.25 / EXPERIMENTS) ** 0.5 * 2**0.5

    assert seen.hours is not None
    assert abs(seen.hours - TASKS * REPEATS * 2 * 60 / 2 / 3600) < 1e-6
    assert seen.cost_usd is not None
    assert abs(seen.cost_usd - TASKS * REPEATS * 2 * 0.5) < 1e-6


def test_plan_names_what_does_not_fit_and_writes_nothing(tmp_path: Path, task_folder) -> None:
    folder = task_folder(tmp_path / "suite" / "large")
    (folder / "task.toml").write_text('[environment]\ndocker_image = "none:latest"\ncpus = 64\n')
    root = Root(tmp_path / "results")
    suite = load_suite(tmp_path / "suite")
    frozen = freeze(parse_sweep(sweep_text(tmp_path / "suite"), "power"), suite, root, datetime.now(UTC))
    seen = forecast(frozen, root, cpus=2, memory_mb=8000.0)
    assert seen.misfits == ("large under 1x: 64 cores promised, this machine has 2",)
    assert seen.hours is None
    assert not (tmp_path / "results").exists()
