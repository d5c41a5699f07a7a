"""What is shown while a sweep runs: whole within 80 columns, a line for a log, an object for a program."""

import io
import json
from collections import Counter

import pytest
from rich.console import Console

from orchestrator.cli.display import JsonDisplay, LiveDisplay, PlainDisplay, clock_words, draw_progress
from orchestrator.execution.progress import ArmProgress, Progress


def make_progress(arm: str = "claude/3x/live") -> Progress:
    origins = Counter(agent=1234, resources=56, infrastructure=78, operator=9)
    arm_progress = ArmProgress(planned=10_000, done=5000, passed=3700, running=64, attempts=5100, origins=origins)
    return Progress("s-1", "results", {arm: arm_progress}, started_s=0.0, now_s=7200.0, waiting=4936)


@pytest.mark.parametrize("arm", ["a/1x/live", "a-very-long-name-of-an-agent-indeed/uncapped-memory/frozen"])
def test_the_arms_and_all_their_counts_fit_80_columns(arm: str) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(draw_progress(make_progress(arm), 80))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    for word in ("done", "run", "pass", "fail", "res.", "infra", "oper."):
        assert word in text
    for number in ("5000/10000", "64", "3700", "1234", "56", "78", "9"):
        assert f" {number} " in text
    assert arm[:8] in text
    assert "elapsed 2:00:00" in " ".join(text.split())


def test_the_live_display_draws_what_it_heard() -> None:
    console = Console(width=80, record=True, file=io.StringIO(), force_terminal=True)
    display = LiveDisplay(console)
    display.progress = make_progress()
    display.hear("attempt", {})
    display.hear("recovered", {"rows": 3, "lost": 1})
    display.close()
    assert "recovered 3 rows and 1 lost attempts" in console.export_text()


def test_a_log_gets_a_line_every_ten_seconds_and_one_for_each_message() -> None:
    stream, clock = io.StringIO(), iter([0.0, 0.0, 5.0, 11.0, 11.0, 12.0])
    display = PlainDisplay(stream, lambda: next(clock))
    display.progress = make_progress()
    for _ in range(3):
        display.hear("progress", {})
    display.hear("attempt", {"status": "PASSED"})
    display.hear("damage", {"message": "line 3 is damaged"})
    display.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 4
    assert lines[2] == "line 3 is damaged"
    assert lines[0] == (
        "5000/10000 trials, 64 running, 4936 waiting, 3700 passed, 78 infrastructure failures, "
        "elapsed 2:00:00, remaining 2:00:00"
    )


def test_a_program_gets_an_object_for_each_event() -> None:
    stream = io.StringIO()
    display = JsonDisplay(stream)
    display.hear("progress", {})
    display.hear("attempt", {"status": "PASSED", "cost_usd": None})
    display.hear("stopping", {"message": "bye"})
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"event": "attempt", "status": "PASSED", "cost_usd": None},
        {"event": "stopping", "message": "bye"},
    ]


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, "-"), (0, "0:00"), (65, "1:05"), (59.6, "1:00"), (7384, "2:03:04")]
)
def test_times_in_words(seconds: float | None, words: str) -> None:
    assert clock_words(seconds) == words
