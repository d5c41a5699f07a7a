"""The log of what attempts have used: the last total counts, and nothing that a disk does stops a request."""

from pathlib import Path

from orchestrator.models.usage import ModelUsage
from orchestrator.models.usage_log import forget_usage, note_usage, read_usage


def test_the_last_total_of_each_attempt_is_read_from_all_logs(tmp_path: Path) -> None:
    note_usage(tmp_path / "usage" / "a.jsonl", "x-0", ModelUsage(model="m", calls=1, cost_usd=0.1))
    note_usage(tmp_path / "usage" / "a.jsonl", "x-0", ModelUsage(model="m", calls=2, cost_usd=0.2))
    note_usage(tmp_path / "usage" / "b.jsonl", "y-0", ModelUsage(model="m", calls=1, cost_usd=None))
    found = read_usage(tmp_path / "usage")
    assert (found["x-0"].calls, found["x-0"].cost_usd, found["y-0"].cost_usd) == (2, 0.2, None)
    forget_usage(tmp_path / "usage")
    assert read_usage(tmp_path / "usage") == {}


def test_a_line_cut_off_by_a_crash_leaves_the_one_before(tmp_path: Path) -> None:
    log = tmp_path / "a.jsonl"
    note_usage(log, "x-0", ModelUsage(calls=1))
    whole = log.read_bytes()
    note_usage(log, "x-0", ModelUsage(calls=2))
    log.write_bytes(log.read_bytes()[: len(whole) + 20])
    assert read_usage(tmp_path)["x-0"].calls == 1


def test_a_disk_that_takes_nothing_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    note_usage(tmp_path / "file" / "a.jsonl", "x-0", ModelUsage(calls=1))
    note_usage(Path("/dev/full"), "x-0", ModelUsage(calls=1))
