"""Record a scripted model's traffic in the live lane, replay it in the frozen one: the same rows but for times and ids."""

from pathlib import Path

import duckdb
import pytest

from orchestrator.config import ConfigError
from orchestrator.core.columns import COLUMNS
from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from tests.integration.sweeps.conftest import Silent

SUITE = Path(__file__).resolve().parents[3] / "suites" / "pybugs"
MAY_DIFFER = {
    "sweep", "sweep_name", "lane", "arm", "trial_key", "attempt_id", "plan_position", "cost_usd", "transcript_uri",
    "transcript_sha256", "artifacts_uri", "artifacts_sha256",
}  # fmt: skip
GROUPS_THAT_MUST_AGREE = ("identity", "verdict", "failure", "requested", "usage", "policy")


def write(folder: Path, name: str, lane: str) -> Path:
    path = folder / f"{name}.toml"
    path.write_text(f"""name = "{name}"
suite = {{ path = "{SUITE}", include = ["jsonpatch*"] }}
repeats = 2
lanes = ["{lane}"]
agents = [{{ name = "scripted", kind = "claude", model = "scripted-erratic" }}]
[model]
record = true
[model.scripted]
success = {{ scripted-erratic = 0.5 }}
""")
    return path


def run(sweep: Path) -> None:
    place = PlaceOptions(inline=True)
    assert run_due(Request(sweep=sweep, place=place), Silent, quiet=True) == 0


def rows(root: Path, lane: str) -> list[dict[str, object]]:
    names = [
        c.name for c in COLUMNS
        if c.group in GROUPS_THAT_MUST_AGREE and c.name not in MAY_DIFFER and c.type != "time" and not c.name.endswith("_s")
    ]  # fmt: skip
    found = duckdb.sql(
        f"""select {", ".join(names)} from read_parquet('{root}/trials/**/*.parquet', hive_partitioning = true)
        where lane = '{lane}' order by repeat"""
    ).fetchall()
    return [dict(zip(names, row, strict=True)) for row in found]


@pytest.mark.docker
def test_a_replayed_sweep_gives_the_rows_that_were_recorded(tmp_path: Path) -> None:
    run(write(tmp_path, "recorded", "live"))
    run(write(tmp_path, "replayed", "frozen"))
    live, frozen = rows(tmp_path / "results", "live"), rows(tmp_path / "results", "frozen")
    assert len(live) == 2
    assert {row["agent_ending"] for row in live} == {"finished"}
    assert all(row["tokens_out"] for row in live)
    assert frozen == live


def test_the_frozen_lane_without_a_recording_is_refused_before_anything_starts(tmp_path: Path) -> None:
    sweep = write(tmp_path, "replayed", "frozen")
    with pytest.raises(ConfigError, match="holds no recording; run the live lane first"):
        run_due(Request(sweep=sweep, place=PlaceOptions(inline=True)), Silent, quiet=True)


def test_an_agent_that_asks_a_model_needs_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    sweep = write(tmp_path, "live", "live")
    sweep.write_text(sweep.read_text().split("[model]")[0])
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        run_due(Request(sweep=sweep, place=PlaceOptions(inline=True)), Silent, quiet=True)
