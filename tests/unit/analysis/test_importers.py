"""Results of other harnesses become rows; what they leave out becomes visible, and bad files get a sentence."""

from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner

from orchestrator.analysis.importers.base import Options, UnreadableImportError
from orchestrator.analysis.importers.run import import_results
from orchestrator.analysis.quick import quick_table
from orchestrator.cli.main import app
from orchestrator.storage.schema import trials_schema

DATA = Path(__file__).parents[2] / "data"


def rows_of(root: Path) -> list[dict]:
    return ds.dataset(root / "trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist()


def test_the_published_tau_bench_table_gives_its_published_figures(tmp_path: Path) -> None:
    import_results(DATA / "published/tau_bench/trials.csv", str(tmp_path), Options())
    (row,) = quick_table(str(tmp_path))
    assert (row.tasks, row.trials) == (50, 200)
    assert row.pass_at_1 == pytest.approx(21 / 50, abs=1e-12)
    assert row.pass_hat_3 == pytest.approx(11 / 50, abs=1e-12)


def test_counts_become_trials(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("task,n,c\nx,3,2\ny,2,5\n")
    report = import_results(path, None, Options())
    assert dict(report.statuses) == {"PASSED": 2, "FAILED": 1}
    assert "0 <= c <= n" in report.refused[0].reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "none tells the task"),
        ("task,score\nx,nan\n", "no finite number"),
        ("task,passed\nx,maybe\n", "neither a pass nor a failure"),
    ],
)
def test_a_table_that_cannot_be_counted_gets_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(UnreadableImportError, match=said):
        import_results(path, None, Options())


def test_a_mapping_names_columns(tmp_path: Path) -> None:
    table = DATA / "published/mle_bench_fm/trials.csv"
    report = import_results(table, None, Options(mapping={"passed": "any_medal"}))
    assert report.rows == 225
    assert report.statuses["PASSED"] == 98
    with pytest.raises(UnreadableImportError, match="the columns are"):
        import_results(table, None, Options(mapping={"passed": "medal"}))


def test_an_import_says_that_it_went_by_the_score_and_that_trials_came_twice(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("part,task,seed,score\na,x,0,0.5\na,y,0,1\nb,x,0,0\n")
    shown = CliRunner().invoke(app, ["import", str(path), "--results", str(tmp_path / "out")])
    assert shown.exit_code == 1
    assert "Nothing but the score tells whether 2 of them passed: a score of 1 or more" in shown.stdout
    assert "--map suite=COLUMN" in shown.stderr
    words = ["import", str(path), "--results", str(tmp_path / "parts"), "--map", "suite=part", "--map", "passed=seed"]
    shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    assert "score" not in shown.stdout
    told = CliRunner().invoke(app, ["summary", str(tmp_path / "parts")]).stdout.splitlines()
    assert [line.strip() for line in told if line.startswith("suite ")] == ["suite a", "suite b"]
    assert [line.split()[1] for line in told if line.startswith("unknown/unknown  ")] == ["2", "1"]


def test_an_unknown_format_names_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\0")
    with pytest.raises(UnreadableImportError, match="harbor, inspect"):
        import_results(tmp_path / "x.bin", None, Options())
