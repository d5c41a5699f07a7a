"""Printed figures alone: an import says when no counts can print so, and gives rows where only one set can."""

import csv
import json
from collections import Counter
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from typer.testing import CliRunner, Result

from orchestrator.analysis.importers.base import Options, UnreadableImportError
from orchestrator.analysis.importers.run import import_results
from orchestrator.analysis.quick import quick_table
from orchestrator.cli.main import app
from orchestrator.storage.schema import trials_schema

DATA = Path(__file__).parents[2] / "data"
TAU2 = DATA / "published/tau2_published/reconstructed_histograms.csv"


def passhat(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def rows_of(root: Path) -> list[dict]:
    return ds.dataset(root / "trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist()


def table(folder: Path, text: str) -> Path:
    path = folder / "t.csv"
    path.write_text(text)
    return path


def test_the_published_leaderboard_gives_60_histograms_and_14_refusals(tmp_path: Path) -> None:
    found = passhat("import", TAU2, "--results", tmp_path, "--json")
    assert found.exit_code == 1
    told = json.loads(found.stdout)
    with TAU2.open(newline="") as file:
        published = list(csv.DictReader(file))
    wrong = [number for number, row in enumerate(published, start=1) if row["consistent"] == "0"]
    assert [reason["where"] for reason in told["reasons"]] == [f"{TAU2.name}:{number}" for number in wrong]
    assert all("print as" in reason["reason"] for reason in told["reasons"])
    passes: Counter[tuple[str, str, str]] = Counter()
    for row in rows_of(tmp_path):
        passes[row["suite"], row["agent"], row["task"]] += bool(row["passed"])
        assert "inverted_from_figures" in row["flags"]
    for row in published:
        if row["consistent"] == "1":
            arm = [c for (suite, agent, _), c in passes.items() if (suite, agent) == (row["domain"], row["submission"])]
            assert [arm.count(c) for c in range(5)] == [int(row[f"tasks_with_c{c}"]) for c in range(5)]


def test_figures_come_out_as_they_went_in(tmp_path: Path) -> None:
    path = table(tmp_path, "agent,tasks,trials,pass^1,pass^2,pass^3,pass^4\na,50,4,42.0,27.3,22.0,20.0\n")
    assert passhat("import", path, "--results", tmp_path / "out").exit_code == 0
    (row,) = quick_table(str(tmp_path / "out"))
    assert (row.tasks, row.trials) == (50, 200)
    assert row.pass_at_1 == pytest.approx(21 / 50)
    assert row.pass_hat_3 == pytest.approx(11 / 50)


def test_pass_at_k_is_inverted_too_and_fractions_are_read_as_such(tmp_path: Path) -> None:
    path = table(tmp_path, "model,problems,repeats,pass@1,pass@2,pass@3\nm,4,3,0.5,0.6667,0.75\n")
    assert passhat("import", path, "--results", tmp_path / "out").exit_code == 0
    per_task = Counter()
    for row in rows_of(tmp_path / "out"):
        per_task[row["task"]] += bool(row["passed"])
    assert sorted(per_task.values()) == [0, 1, 2, 3]


def test_two_arms_from_figures_share_no_task(tmp_path: Path) -> None:
    path = table(tmp_path, "agent,tasks,trials,pass^1\na,20,1,50.0\nb,20,1,55.0\n")
    assert passhat("import", path, "--results", tmp_path / "out").exit_code == 0
    found = passhat("compare", "agent=a", "agent=b", "--results", tmp_path / "out")
    assert found.exit_code != 0
    assert "40 tasks have verdicts on one side only" in f"{found.output} {found.exception}"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a,28,1,84.9,,", r"no counts of 28 tasks with 1 trial print as pass\^1 = 84.9"),
        ("a,28,10,85.0,,", "alone does not tell how often each of 28 tasks"),
        ("a,50,2,42.0,20.0,10.0", r"pass\^3 is printed for 2 trials"),
        ("a,400,3,50,40,30", "more than one set of counts"),
        ("a,50,2,20.0,42.0,", "No counts of 50 tasks with 2 trials print as 20.0, 42.0"),
        ("a,,3,42.0,20.0,10.0", "does not tell how many tasks"),
        ("a,50,,42.0,20.0,10.0", "does not tell how many trials"),
        ("a,50,3,nan,20.0,10.0", "the figure 'nan' is no finite number"),
        ("a,50,3,,,", "has no figure"),
    ],
)
def test_figures_that_tell_no_counts_are_refused_with_the_reason(tmp_path: Path, row: str, said: str) -> None:
    good = "good,10,3,100.0,100.0,100.0"
    path = table(tmp_path, f"agent,tasks,trials,pass^1,pass^2,pass^3\n{good}\n{row}\n")
    report = import_results(path, None, Options())
    assert report.rows == 30
    (refused,) = report.refused
    assert passhat("import", path, "--dry-run").exit_code == 1
    with pytest.raises(UnreadableImportError, match=said):
        raise UnreadableImportError(refused.reason)


def test_how_many_tasks_and_trials_can_be_said_as_numbers(tmp_path: Path) -> None:
    path = table(tmp_path, "submission,pass_1,pass_2,pass_3,pass_4\ns,42.0,27.3,22.0,20.0\n")
    assert "does not tell how many tasks" in str(passhat("import", path, "--dry-run").exception)
    found = passhat("import", path, "--dry-run", "--map", "tasks=50", "--map", "trials=4", "--json")
    assert json.loads(found.stdout)["rows"] == 200


def test_rates_per_task_become_the_only_counts_they_can_be(tmp_path: Path) -> None:
    path = table(tmp_path, "task,n,rate\na,4,0.75\nb,3,0.333\nc,4,0.33\nd,400,0.5\ne,300,0.33\nf,5,x\n")
    found = passhat("import", path, "--results", tmp_path / "out")
    assert found.exit_code == 1
    assert "the rate 0.33 cannot be that of 4 trials" in found.output
    assert "the rate 0.33 of 300 trials may be 98 to 100 passes" in found.output
    assert "'x'" in found.output
    per_task = Counter()
    for row in rows_of(tmp_path / "out"):
        per_task[row["task"]] += bool(row["passed"])
    assert (per_task["a"], per_task["b"]) == (3, 1)


def test_a_low_rate_in_a_table_of_percentages_is_a_percentage(tmp_path: Path) -> None:
    path = table(tmp_path, "task,n,pass_rate\na,200,0.5\nb,200,62.5\n")
    report = import_results(path, None, Options())
    assert dict(report.statuses) == {"PASSED": 1 + 125, "FAILED": 199 + 75}


def test_a_score_beside_a_number_of_trials_must_be_explained(tmp_path: Path) -> None:
    path = table(tmp_path, "task,n,score\na,4,0.75\n")
    with pytest.raises(UnreadableImportError, match="--map rate=score"):
        import_results(path, None, Options())
    assert import_results(path, None, Options(mapping={"rate": "score"})).rows == 4
    assert import_results(path, None, Options(mapping={"score": "score"})).rows == 1


@pytest.mark.parametrize(
    ("reducer", "metric", "said"),
    [
        ("mean", 0.9, "gives accuracy 0.9 for match by mean, its samples give 0.483333"),
        ("pass_at_2", 0.7, "gives accuracy 0.7 for match by pass_at_2, its samples give 0.666667"),
        ("pass_k_3", 0.25, "gives accuracy 0.25 for match by pass_k_3, its samples give 0.2"),
    ],
)
def test_figures_of_a_log_that_its_samples_do_not_give(tmp_path: Path, reducer: str, metric: float, said: str) -> None:
    import zipfile

    from orchestrator.analysis.importers.inspect_log import read_entry

    with zipfile.ZipFile(DATA / "inspect/errors.eval") as archive:
        entries = {name: read_entry(archive, name) for name in archive.namelist()}
    header = json.loads(entries["header.json"])
    (score,) = [score for score in header["results"]["scores"] if score["reducer"] == reducer]
    score["metrics"]["accuracy"]["value"] = metric
    entries["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    found = passhat("import", tmp_path / "log.eval", "--results", tmp_path / "out")
    assert found.exit_code == 1
    assert found.output.count("refused:") == 1
    assert said in found.output
    assert len(rows_of(tmp_path / "out")) == 24
