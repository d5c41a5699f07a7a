"""What a figure of the report is: a chart, what it estimates, a table of the same numbers and words for them."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt

from orchestrator.analysis.estimand import Estimand

PALETTE = ("#2f7ed8", "#e4572e", "#1b9e77", "#9467bd", "#d69f00", "#17a2b8", "#c2527e", "#7f7f7f", "#8c6d31", "#5254a3")
MOST_ARMS = 10
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers as text; `left_out` rows stand in the summary's files only."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure. `spec` is None where there is nothing to draw, and `note` says why."""

    key: str
    title: str
    spec: Mapping[str, object] | None
    sentence: str
    words: str
    table: Table
    note: str = ""


def together(estimands: Sequence[Estimand], statistic: str | None = None) -> str:
    """One sentence for the numbers of several arms: what they share, and the range of what they do not."""
    first = estimands[0]
    return replace(
        first,
        statistic=statistic or first.statistic,
        n_min=min(e.n_min for e in estimands),
        n_max=max(e.n_max for e in estimands),
        n_median=statistics.median(e.n_median for e in estimands),
        tasks=max(e.tasks for e in estimands),
        resources=", ".join(dict.fromkeys(e.resources for e in estimands)),
        retry_policy="; ".join(dict.fromkeys(e.retry_policy for e in estimands)),
        rule=", ".join(dict.fromkeys(e.rule for e in estimands)),
        snapshots=max(e.snapshots for e in estimands),
        days=max(e.days for e in estimands),
        first_day=min(e.first_day for e in estimands),
        last_day=max(e.last_day for e in estimands),
    ).sentence()


ROWS = alt.NamedData(name="rows")


def spec(
    chart: alt.TopLevelMixin, rows: Sequence[Mapping[str, object]], *, across: int = 0, beside: int = 0
) -> Mapping[str, object]:
    """A chart over ROWS as plain JSON values with its rows in it; sizes and colours are left to the page.

    across: panels side by side in a chart of panels, which the page fits to its own width, less `beside` pixels of names.
    """
    found: dict[str, object] = chart.to_dict(validate=False)
    found.pop("config", None)
    kept = found.get("datasets")
    if across:
        found["usermeta"] = {"across": across, "beside": beside}
    found["datasets"] = {**(kept if isinstance(kept, dict) else {}), "rows": [dict(row) for row in rows]}
    return found


def table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table of at most MOST_ROWS rows."""
    shown = tuple(tuple(cell(value) for value in row) for row in rows[:MOST_ROWS])
    return Table(tuple(heads), shown, max(0, len(rows) - MOST_ROWS))


def cell(value: object) -> str:
    """A value as a reader sees it; unknown is a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return (
            f"{value:.3g}"
            if value and (abs(value) < 0.01 or abs(value) >= 1e5)
            else f"{value:.3f}".rstrip("0").rstrip(".")
        )
    return str(value)


def percent(value: float | None) -> str:
    """A share in percent."""
    return "–" if value is None else f"{100 * value:.1f}%"


def span(low: float | None, high: float | None) -> str:
    """An interval in percent."""
    return "–" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}%"


def empty(key: str, title: str, why: str) -> Figure:
    """A figure that cannot be drawn, and why."""
    return Figure(key, title, None, "", why, Table((), ()), why)


def share_axis(title: str, *, grid: bool = True) -> alt.Axis:
    return alt.Axis(format="%", title=title, grid=grid)


def middle(at_most: int, what: str = "datum.label") -> str:
    """A Vega expression for a label that is shortened in its middle, where the names of arms differ least."""
    head, tail = at_most - at_most // 2, at_most // 2 - 1
    return (
        f"length({what}) > {at_most} ? slice({what}, 0, {head}) + '…' + slice({what}, length({what}) - {tail}) : {what}"
    )


def names_axis(at_most: int = 48, **more: Any) -> alt.Axis:
    """An axis of names, which are arms or tasks."""
    return alt.Axis(labelExpr=middle(at_most), labelLimit=7 * at_most, **more)


def pair_axis(at_most: int = 48) -> alt.Axis:
    """An axis of pairs of names, each name on a line of its own."""
    lines = ", ".join(middle(at_most, f"split(datum.label, '\\n')[{line}]") for line in (0, 1))
    return alt.Axis(labelExpr=f"[{lines}]", labelLimit=7 * at_most, labelLineHeight=12, labelBaseline="line-bottom")


def panel_header(at_most: int = 90) -> alt.Header:
    """The name of a panel above its left end."""
    return alt.Header(
        labelAngle=0, labelAlign="left", labelAnchor="start", labelOrient="top", labelFontSize=12, labelFontWeight="bold",
        labelExpr=middle(at_most), labelLimit=7 * at_most,
    )  # fmt: skip


def colour(field: str = "arm", domain: Sequence[str] | None = None) -> alt.Color:
    """Arms in one palette, the same arm in the same colour in every figure."""
    scale = alt.Scale(domain=list(domain), range=list(PALETTE)) if domain else alt.Scale(range=list(PALETTE))
    return alt.Color(
        f"{field}:N",
        scale=scale,
        legend=alt.Legend(title=None, orient="top", columns=2, labelExpr=middle(60), labelLimit=420),
    )
