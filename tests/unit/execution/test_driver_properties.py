"""Whatever attempts come to, in whatever order: each trial ends once, within the retry policy, and every try is a row."""

import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.core.retry import RetryPolicy
from orchestrator.core.status import Origin, Status
from orchestrator.execution.assignment import Assignment, Outcome
from tests.unit.execution.scripted import DIES, Ran, ScriptedCluster, drive, outcome
from tests.unit.execution.test_driver import make_jobs

CALM = [status for status in Status if status.origin is not Origin.OPERATOR and status is not Status.LOST]
ENDINGS = st.sampled_from([*CALM, DIES])


def run(trials: int, endings: dict[str, object], policy: RetryPolicy, cpus: float, concurrency: int | None) -> Ran:
    def script(assignment: Assignment) -> Outcome | str:
        ending = endings.get(assignment.attempt_id, Status.PASSED)
        return ending if isinstance(ending, str) and ending == DIES else outcome(assignment, Status(ending))

    with tempfile.TemporaryDirectory() as folder:
        cluster = ScriptedCluster(script, cpus=cpus)
        return drive(Path(folder), cluster, make_jobs(trials), policy=policy, concurrency=concurrency)


@settings(deadline=None, max_examples=40)
@given(
    trials=st.integers(1, 8),
    endings=st.dictionaries(st.builds("k{:03d}-{}".format, st.integers(0, 7), st.integers(0, 3)), ENDINGS, max_size=20),
    most=st.integers(0, 3),
    backoff_s=st.sampled_from([0.0, 1.0, 30.0]),
    cpus=st.sampled_from([1.0, 3.0]),
    concurrency=st.none() | st.integers(1, 2),
)
def test_each_trial_ends_once_within_its_retries_and_every_attempt_is_a_row(
    trials: int,
    endings: dict[str, object],
    most: int,
    backoff_s: float,
    cpus: float,
    concurrency: int | None,
) -> None:
    ran = run(trials, endings, RetryPolicy(most, backoff_s=backoff_s), cpus, concurrency)
    by_trial: dict[object, list[dict[str, object]]] = defaultdict(list)
    for row in ran.rows:
        by_trial[row["trial_key"]].append(row)
    assert len(by_trial) == trials
    for rows in by_trial.values():
        assert [row["attempt"] for row in rows] == list(range(len(rows)))
        assert [row["final"] for row in rows] == [False] * (len(rows) - 1) + [True]
        assert all(row["origin"] == "infrastructure" for row in rows[:-1])
        assert len(rows) <= most + 1
        assert Status(str(rows[-1]["status"])).has_verdict or len(rows) == most + 1
    progress = ran.driver.progress
    assert (progress.done, progress.running, progress.waiting) == (trials, 0, 0)
    assert progress.without_verdict == sum(rows[-1]["passed"] is None for rows in by_trial.values())
    assert sum(event == "attempt" for event, _ in ran.heard) == len(ran.rows)
    assert ran.driver.stopped_by is None
