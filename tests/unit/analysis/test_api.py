"""The same summary from Python, as data frames of the reader's choice."""

import sys
from pathlib import Path

import pytest

from orchestrator import api

QUICK = api.Settings(replicates=500)


@pytest.fixture(scope="module")
def loaded(simulated: Path) -> api.Loaded:
    return api.load(simulated)


@pytest.fixture(scope="module")
def summary(loaded: api.Loaded) -> api.Summary:
    return api.aggregate(loaded, QUICK)


def test_frames_of_every_kind_hold_the_same(summary: api.Summary) -> None:
    rows = api.frame(summary, "arms", "rows")
    assert api.frame(summary, "arms").num_rows == len(rows)
    with pytest.raises(ValueError, match="there are arms, curves"):
        api.frame(summary, "armz")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_frame_of_an_installed_library_holds_the_same(summary: api.Summary, kind: api.Kind) -> None:
    library = pytest.importorskip(kind)
    found, rows = api.frame(summary, "arms", kind), api.frame(summary, "arms", "rows")
    assert isinstance(found, library.DataFrame)
    assert list(found.columns) == list(rows[0])
    assert list(found["estimate"]) == [row["estimate"] for row in rows]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_library_that_is_missing_is_a_sentence_and_the_others_still_work(
    summary: api.Summary, kind: api.Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(ImportError, match=rf"{kind} was asked for, but {kind} is not installed: .* ask for 'pyarrow'"):
        api.frame(summary, "arms", kind)
    assert len(api.frame(summary, "arms", "rows")) == api.frame(summary, "arms", "pyarrow").num_rows > 0


def test_a_kind_of_frame_that_does_not_exist_is_refused(summary: api.Summary) -> None:
    with pytest.raises(ValueError, match="no data frame of the kind 'excel'; there are pyarrow"):
        api.frame(summary, "arms", "excel")  # type: ignore[arg-type]


def test_comparing_loaded_results(loaded: api.Loaded) -> None:
    rows = api.compare(loaded, "agent=poor resources=3x", "agent=good resources=3x", QUICK, ks=(2,))
    assert [row.statistic for row in rows] == ["pass@1", "pass@2", "pass^2", "cost per trial"]
    assert rows[0].number.estimate > 0


def test_a_plot_is_a_vega_lite_specification(summary: api.Summary) -> None:
    import altair

    assert altair.Chart.from_dict(dict(api.plot(summary, "scores"))).to_dict()["$schema"].endswith(".json")
    with pytest.raises(ValueError, match="there are scores, curves"):
        api.plot(summary, "pie")
