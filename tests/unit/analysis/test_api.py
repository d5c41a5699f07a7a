"""The same summary from Python, as data frames of the reader's choice."""

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
    assert api.frame(summary, "arms", "pandas")["estimate"].tolist() == [row["estimate"] for row in rows]
    assert api.frame(summary, "arms", "polars")["estimate"].to_list() == [row["estimate"] for row in rows]
    with pytest.raises(ValueError, match="there are arms, curves"):
        api.frame(summary, "armz")


def test_comparing_loaded_results(loaded: api.Loaded) -> None:
    rows = api.compare(loaded, "agent=poor resources=3x", "agent=good resources=3x", QUICK, ks=(2,))
    assert [row.statistic for row in rows] == ["pass@1", "pass@2", "pass^2", "cost per trial"]
    assert rows[0].number.estimate > 0


def test_a_plot_is_a_vega_lite_specification(summary: api.Summary) -> None:
    import altair

    assert altair.Chart.from_dict(dict(api.plot(summary, "scores"))).to_dict()["$schema"].endswith(".json")
    with pytest.raises(ValueError, match="there are scores, curves"):
        api.plot(summary, "pie")
