"""What is wrong with rows is found, listed and kept out; never passed over."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from orchestrator.analysis.cells import planned
from orchestrator.analysis.fingerprints import hash_strings
from orchestrator.analysis.integrity import check_rows
from orchestrator.analysis.rows import row_files
from orchestrator.analysis.simulate import SettingTruth, Simulation, Truth
from orchestrator.analysis.summary import load_cells
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.schema import trials_schema


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Simulation.of(Truth(tasks=6, repeats=3, settings=(SettingTruth(infrastructure=0.3),))).write(tmp_path)
    return tmp_path


def only_file(root: Path) -> Path:
    return next((root / "trials").rglob("*.parquet"))


def rewrite(root: Path, **columns) -> None:
    """Replace columns of the only file by functions of the old ones."""
    path = only_file(root)
    table = pa.concat_tables(scan(Root(root)))
    for name, change in columns.items():
        field = trials_schema().field(name)
        values = pa.array(change(table.column(name).to_pylist()), field.type)
        table = table.set_column(table.schema.get_field_index(name), field, values)
    pq.write_table(table, path)


def kinds(root: Path) -> dict[str, int]:
    return {finding.kind: finding.count for finding in load_cells([str(root)]).findings}


def test_sound_rows_have_no_error(root: Path) -> None:
    assert not [f for f in load_cells([str(root)]).findings if f.severity == "error"]


def test_duplicates_are_counted_once_and_named(root: Path) -> None:
    before = planned(load_cells([str(root)]).cells).sum()
    rows = pq.read_metadata(only_file(root)).num_rows
    shutil.copy(only_file(root), only_file(root).with_name("part-zcopy-0001.parquet"))
    loaded = load_cells([str(root)])
    assert planned(loaded.cells).sum() == before
    duplicate = next(f for f in loaded.findings if f.kind == "duplicate attempts")
    assert (duplicate.count, duplicate.severity) == (rows, "error")
    assert "part-zcopy-0001" in duplicate.where


def test_of_two_endings_of_a_trial_the_last_counts(root: Path) -> None:
    rewrite(root, final=lambda values: [True] * len(values))
    check = check_rows(row_files([str(root)]))
    attempts = pq.read_table(only_file(root), partitioning=None)
    extra = attempts.num_rows - pc.count_distinct(attempts.column("trial_key")).as_py()
    assert extra > 0
    assert {f.kind: f.count for f in check.findings} == {"superseded final attempts": extra}
    assert planned(load_cells([str(root)]).cells).sum() == attempts.num_rows - extra


def test_a_missing_attempt_is_a_gap(root: Path) -> None:
    rewrite(root, attempt=lambda values: [value + 1 for value in values])
    assert kinds(root)["attempts not consecutive"] == 18


def test_clocks_that_run_backwards_and_wrong_days_are_named(root: Path) -> None:
    from datetime import timedelta

    rewrite(root, finished_at=lambda values: [values[0] - timedelta(days=1), *values[1:]])
    assert kinds(root)["finished before started"] == 1
    rewrite(root, started_at=lambda values: [value - timedelta(days=2) for value in values])
    assert kinds(root)["day is not the day of the start"] > 18


def test_two_contents_under_one_name_are_an_error(root: Path) -> None:
    rewrite(root, task_digest=lambda values: ["other", *values[1:]])
    found = next(f for f in load_cells([str(root)]).findings if f.kind.startswith("mixed task_digest"))
    assert (found.severity, found.count) == ("error", 2)


def test_the_data_hash_follows_the_rows_and_not_the_files(tmp_path: Path) -> None:
    truth = Truth(tasks=6, repeats=3)
    Simulation.of(truth).write(tmp_path / "one")
    Simulation.of(truth).write(tmp_path / "many", files=4)
    hashes = [check_rows(row_files([str(tmp_path / name)])).data_hash for name in ("one", "many")]
    assert hashes[0] == hashes[1]
    rewrite(tmp_path / "one", attempt=lambda values: [value + 1 for value in values])
    assert check_rows(row_files([str(tmp_path / "one")])).data_hash != hashes[0]


def test_a_strings_hash_does_not_depend_on_the_others_beside_it() -> None:
    words = ["", "a", "12345678", "12345678a", "x" * 40]
    together = hash_strings(pa.array(words)).tolist()
    assert together == [int(hash_strings(pa.array([word]))[0]) for word in words]
    assert len(set(together)) == len(words)
