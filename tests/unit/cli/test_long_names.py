"""Tables on a terminal of 80 columns when arms have long names: each line whole, each arm told apart, no column lost."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.cli.main import app
from orchestrator.cli.tables import shortened

AGENT = "claude-opus-4-5-thinking-high-with-a-very-long-name"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("long")
    truth = Truth(
        agents=(AgentTruth(AGENT),),
        settings=(SettingTruth("headroom-1x", "1.0", infrastructure=0), SettingTruth("headroom-3x", infrastructure=0)),
        tasks=12, repeats=3, retry_max=0,
    )  # fmt: skip
    Simulation.of(truth).write(root)
    return root


def lines(*words: object) -> list[str]:
    shown = CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "80"})
    assert shown.exit_code == 0, shown.output
    return shown.stdout.splitlines()


@pytest.mark.parametrize("command", ["summary", "aggregate"])
def test_arms_are_one_line_each_and_named_whole_below(results: Path, command: str) -> None:
    shown = lines(command, results)
    table = [line for line in shown if "…" in line and ": " not in line]
    assert len(table) == {"summary": 2, "aggregate": 6}[command]
    assert max(map(len, table)) <= 80
    names = {line.split("  ")[0] for line in table}
    assert len(names) == 2
    for name in names:
        (told,) = [line for line in shown if line.startswith(f"{name}: ")]
        assert AGENT in told
        assert told.endswith(name[-6:])


def test_an_equivalent_pair_keeps_the_column_of_statistics(results: Path) -> None:
    sides = [f"agent={AGENT} resources={name}" for name in ("headroom-1x", "headroom-3x")]
    shown = lines("compare", *sides, "--results", results, "--margin", "0.9", "--anyway")
    rows = shown[1:4]
    assert [row.split()[0] for row in rows] == ["pass@1", "pass@3", "pass^3"]
    assert all(row.endswith("equivalent") for row in rows)
    assert max(map(len, shown[:5])) <= 80
    assert any("equivalent within 90 points" in line for line in shown)


def test_names_that_shortening_would_make_alike_are_numbered() -> None:
    names = [f"same-beginning-{middle}-same-ending" for middle in ("a", "b")]
    found = shortened([*names, names[0]], 14)
    assert list(found) == names
    assert [short[:2] for short in found.values()] == ["1 ", "2 "]
    assert max(map(len, found.values())) <= 14
