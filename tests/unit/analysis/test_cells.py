"""Cells hold what a count by hand gives, however the rows are spread over files and workers."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from orchestrator.analysis import blocks
from orchestrator.analysis.cells import CELL_KEYS, passes, planned, read_cells, trials
from orchestrator.analysis.rows import RowsError, row_files
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.core.status import ScoringRule, Status
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from orchestrator.storage.schema import trials_schema


def by_hand(root: Path) -> dict[tuple, dict[str, float]]:
    """The sums, row by row in plain Python."""
    sums: dict[tuple, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for row in ds.dataset(root / "trials", schema=trials_schema(), partitioning="hive").to_table().to_pylist():
        cell = sums[tuple(row[name] for name in CELL_KEYS)]
        status = Status(row["status"])
        cell["attempts"] += 1
        cell["cost"] += row["cost_usd"]
        if row["final"] and not row["suspect"]:
            cell[status] += 1
            cell["score"] += row["score"] or 0.0
            for rule in ScoringRule:
                cell[rule] += rule.counts(status)
    return sums


def as_dict(cells) -> dict[tuple, dict[str, float]]:
    keys = list(zip(*(cells.keys[name].decode() for name in CELL_KEYS), strict=True))
    columns = {
        "attempts": cells.measure("attempts"),
        "cost": cells.measure("cost_sum"),
        "score": cells.measure("score_sum"),
        **{s: cells.measure(f"trials_{s}") for s in Status},
        **{rule: trials(cells, rule) for rule in ScoringRule},
    }
    return {key: {name: column[i] for name, column in columns.items()} for i, key in enumerate(keys)}


def test_cells_hold_what_a_count_by_hand_gives(simulated: Path) -> None:
    cells = as_dict(read_cells(row_files([str(simulated)])))
    expected = by_hand(simulated)
    assert cells.keys() == expected.keys()
    for key, sums in expected.items():
        for name, value in cells[key].items():
            assert value == pytest.approx(sums[name], abs=1e-9), (key, name)


def test_the_result_does_not_depend_on_files_blocks_or_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = Truth(
        agents=(AgentTruth("a"), AgentTruth("b")), settings=(SettingTruth(infrastructure=0.2),), tasks=30, repeats=6
    )
    Simulation.of(truth).write(tmp_path / "one")
    Simulation.of(truth).write(tmp_path / "many", files=7)
    whole = read_cells(row_files([str(tmp_path / "one")]))
    files = row_files([str(tmp_path / "many")])

    def backwards(function, parts):
        done = {i: function(part) for i, part in reversed(list(enumerate(parts)))}
        return [done[i] for i in range(len(parts))]

    here = read_cells(files)
    elsewhere = read_cells(files, map_partitions=backwards)
    monkeypatch.setattr(blocks, "ROWS_PER_BLOCK", 50)
    small = read_cells(files)
    for name in here.measures:
        np.testing.assert_array_equal(here.measure(name), elsewhere.measure(name), strict=True)
        np.testing.assert_allclose(small.measure(name), whole.measure(name), rtol=1e-12)
    assert as_dict(here).keys() == as_dict(whole).keys()


def test_suspect_trials_are_counted_apart_and_cost_is_kept(tmp_path: Path) -> None:
    Simulation.of(Truth(tasks=3, repeats=2)).write(tmp_path)
    path = next((tmp_path / "trials").rglob("*.parquet"))
    table = pa.concat_tables(scan(Root(tmp_path)))
    place = table.schema.get_field_index("suspect")
    flags = pa.array([row < 2 for row in range(table.num_rows)])
    pq.write_table(table.set_column(place, trials_schema().field("suspect"), flags), path)
    cells = read_cells(row_files([str(tmp_path)]))
    finals = int(pa.compute.sum(table.column("final")).as_py())
    assert cells.measure("suspect").sum() == 2
    assert trials(cells, ScoringRule.STRICT).sum() == finals - 2
    assert planned(cells).sum() == finals
    assert cells.measure("cost_sum").sum() == pytest.approx(pa.compute.sum(table.column("cost_usd")).as_py())


def test_agent_only_leaves_out_what_resources_did(simulated: Path) -> None:
    cells = read_cells(row_files([str(simulated)]))
    killed = cells.measure("trials_OUT_OF_MEMORY").sum()
    assert killed > 0
    assert trials(cells, ScoringRule.DEFAULT).sum() - trials(cells, ScoringRule.AGENT_ONLY).sum() == killed
    assert passes(cells).sum() == cells.measure("trials_PASSED").sum()


def test_a_torn_file_is_named(tmp_path: Path) -> None:
    Simulation.of(Truth(tasks=3, repeats=2)).write(tmp_path)
    path = next((tmp_path / "trials").rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:4000])
    with pytest.raises(RowsError, match=path.name):
        read_cells(row_files([str(tmp_path)]))


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    Simulation.of(Truth(tasks=3, repeats=2)).write(tmp_path)
    path = next((tmp_path / "trials").rglob("*.parquet"))
    table = pq.read_table(path, partitioning=None)
    pq.write_table(table.replace_schema_metadata({"passhat.schema_version": "99"}), path)
    with pytest.raises(RowsError, match=r"schema version 99.*upgrade passhat"):
        read_cells(row_files([str(tmp_path)]))


def test_an_empty_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match="holds no trials"):
        row_files([str(tmp_path)])
