"""The columns of trials: named once, typed, explained, and required where a row means nothing without them."""

from orchestrator.core.columns import COLUMNS, GROUPS, NAMES, PARTITION_KEYS, REQUIRED, empty_row

TYPES = {"string", "int", "float", "bool", "time", "day", "strings", "map"}


def test_names_are_unique_and_every_column_has_a_known_type_and_a_meaning() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert {c.type for c in COLUMNS} <= TYPES
    assert all(c.meaning.strip() for c in COLUMNS)


def test_what_identifies_and_ends_an_attempt_is_required() -> None:
    assert set(PARTITION_KEYS) <= REQUIRED
    assert {"sweep", "task", "arm", "wave", "repeat", "attempt", "trial_key", "attempt_id"} <= REQUIRED
    assert {"status", "origin", "final", "suspect", "started_at", "finished_at", "schema_version"} <= REQUIRED
    assert not {"passed", "score", "cost_usd", "host_id"} & REQUIRED


def test_units_stand_in_the_names() -> None:
    for column in COLUMNS:
        if "second" in column.meaning or (column.group == "timing" and column.type == "float"):
            assert column.name.endswith("_s"), column.name
        if "memory" in column.name or "disk" in column.name:
            assert "_bytes" in column.name, column.name
        if "cost" in column.name:
            assert column.name.endswith("_usd"), column.name


def test_groups_stand_together() -> None:
    order = [c.group for c in COLUMNS]
    assert order == sorted(order, key=GROUPS.index)


def test_an_empty_row_knows_nothing() -> None:
    assert set(empty_row()) == set(NAMES)
    assert set(empty_row().values()) == {None}
