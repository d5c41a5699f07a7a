"""The streaming reader gives what the whole reader gives, holds one item at a time, and names a torn file."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.analysis.importers import json_stream
from orchestrator.analysis.importers.base import UnreadableImportError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(trials=st.lists(VALUES), before=VALUES, after=VALUES, indent=st.sampled_from([None, 2]), chunk=st.integers(1, 9))
def test_it_gives_what_json_loads_gives(
    trials: list,
    before: object,
    after: object,
    indent: int | None,
    chunk: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("json") / "x.json"
    path.write_text(json.dumps({"before": before, "inner": {"trials": trials, "after": after}}, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_CHUNK", chunk)
        found = json_stream.outline(path, "inner.trials")
        assert found.members == {"before": before, "inner.after": after}
        assert found.arrays == {"inner.trials": len(trials)}
        assert list(json_stream.items(path, "inner.trials")) == trials


@given(cut=st.integers(0, 10_000))
def test_a_file_cut_anywhere_gets_a_sentence(cut: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    text = json.dumps({"a": 12, "trials": [{"id": 1, "score": 0.5}, {"id": 2, "text": 'x"y\\'}]})
    path = tmp_path_factory.mktemp("json") / "x.json"
    path.write_text(text[: cut % len(text)])
    with pytest.raises(UnreadableImportError, match="may be cut off"):
        json_stream.outline(path, "trials")


@pytest.mark.parametrize(
    "text", ['{"trials": [1, 2]} x', '{"trials": [1 2]}', '{"trials": [1,]}', '{"trials" [1]}', ""]
)
def test_what_is_no_json_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UnreadableImportError):
        list(json_stream.items(tmp_path / "x.json", "trials"))


def test_a_document_may_be_the_array_itself(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('\ufeff [1, NaN, "é"]', encoding="utf-8")
    first, second, third = json_stream.items(tmp_path / "x.json", "")
    assert (first, third) == (1, "é")
    assert second != second
    assert json_stream.outline(tmp_path / "x.json", "", "simulations").arrays == {"": 3}


def test_memory_holds_one_item_and_not_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("w") as stream:
        stream.write('{"trials": [')
        stream.writelines(json.dumps({"n": n, "text": "x" * 100_000}) + "," for n in range(300))
        stream.write('0], "after": 1}')
    assert path.stat().st_size > 30_000_000
    tracemalloc.start()
    count = sum(1 for _ in json_stream.items(path, "trials"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 301
    assert peak < 6_000_000
