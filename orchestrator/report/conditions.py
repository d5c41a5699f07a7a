"""Figures of arms under conditions: resources, days and judges."""

from dataclasses import replace

import altair as alt

from orchestrator.analysis.tables import Summary
from orchestrator.report.arms import leading, some
from orchestrator.report.figures import (
    ROWS,
    Figure,
    colour,
    empty,
    names_axis,
    percent,
    share_axis,
    span,
    spec,
    table,
    together,
)


def resources(summary: Summary) -> Figure:
    """Resource settings: failure rates and the three scoring rules."""
    rows = [r for r in summary.resources if r.number.estimate is not None]
    if not rows:
        return empty("resources", "Resource settings", "No arm has trials.")
    shown = leading(summary, 12)
    values = [
        {
            "arm": r.arm.label, "what": r.quantity if r.quantity != "score" else "three scoring rules", "rule": r.rule, "slot": r.rule if r.quantity == "score" else "default",
            "estimate": r.number.estimate, "low": r.number.low, "high": r.number.high, "count": f"{r.count} of {r.trials}",
        }
        for r in rows if r.arm.label in shown
    ]  # fmt: skip
    scale = alt.Scale(
        domain=["default", "strict", "agent_only", "all attempts", "all trials"],
        range=["#2f7ed8", "#e4572e", "#1b9e77", "#d69f00", "#9467bd"],
    )
    base = alt.Chart().encode(
        y=alt.Y("arm:N", sort=shown, title=None, axis=names_axis(34)),
        yOffset=alt.YOffset("slot:N"),
        color=alt.Color(
            "rule:N", scale=scale, legend=alt.Legend(title="scoring rule, or what is counted", orient="top", columns=3)
        ),
    )
    hover = ["arm:N", "rule:N", "count:N", *(alt.Tooltip(f"{n}:Q", format=".2%") for n in ("estimate", "low", "high"))]
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", axis=share_axis("")), x2="high:Q", tooltip=hover)
    dots = base.mark_point(filled=True, size=40).encode(x="estimate:Q", tooltip=hover)
    chart = (
        alt.layer(bars, dots, data=ROWS)
        .properties(width=160, height=alt.Step(12))
        .facet(facet=alt.Facet("what:N", title=None, header=alt.Header(labelFontSize=12)), columns=4)
        .resolve_scale(x="independent")
    )
    body = [
        (r.arm.label, r.quantity, r.rule, percent(r.number.estimate), span(r.number.low, r.number.high),
         f"{r.count} of {r.trials}", span(r.bound_low, r.bound_high)) for r in summary.resources
    ]  # fmt: skip
    words = (
        "; ".join(f"{r.arm.label}: {r.quantity} {percent(r.number.estimate)}" for r in rows if r.quantity != "score")[
            :600
        ]
        + "."
    )
    heads = ("arm", "quantity", "rule", "estimate", "interval", "count", "all missing failed, passed")
    return Figure(
        "resources",
        "Resource settings",
        spec(chart, values, across=4, beside=245),
        together([r.estimand for r in rows]),
        words,
        table(heads, body),
        some(summary, shown),
    )


def days(summary: Summary) -> Figure:
    """Scores over days and waves: drift."""
    rows = [r for r in summary.days if r.number.estimate is not None]
    factors = [
        (
            r.arm.label, f"{r.factor} ({r.levels} levels)", r.part, r.estimate,
            "" if r.low is None or r.high is None else f"{r.low:.2g} to {r.high:.2g}", r.sentence, r.note or "",
        )
        for r in summary.factors
    ]  # fmt: skip
    heads = ("arm", "day or factor", "what", "estimate", "interval", "estimand of a factor", "note")
    if len({r.day for r in rows}) < 2:
        why = "All trials ran on one day: nothing can be said about days."
        return replace(empty("days", "Days", why), table=table(heads, factors))
    shown = leading(summary)
    values = [
        {"arm": r.arm.label, "day": r.day, "estimate": r.number.estimate, "low": r.number.low, "high": r.number.high}
        for r in rows if r.arm.label in shown
    ]  # fmt: skip
    base = alt.Chart(ROWS).encode(
        x=alt.X("day:O", title=None, axis=alt.Axis(labelAngle=-30)), color=colour(domain=shown)
    )
    y = alt.Y("low:Q", axis=share_axis("score on the tasks of every day"), scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.12).encode(y=y, y2="high:Q")
    line = base.mark_line(point=True).encode(
        y="estimate:Q",
        tooltip=["arm:N", "day:O", *(alt.Tooltip(f"{n}:Q", format=".1%") for n in ("estimate", "low", "high"))],
    )
    chart = (band + line).properties(width="container", height=300)
    body = [
        (
            r.arm.label, r.day, "score", percent(r.number.estimate), span(r.number.low, r.number.high), "",
            r.number.interval_reason or "",
        )
        for r in rows
    ]  # fmt: skip
    words = (
        "Scores by day: " + "; ".join(f"{r.arm.label} {r.day} {percent(r.number.estimate)}" for r in rows[:10]) + "."
    )
    return Figure(
        "days",
        "Days",
        spec(chart, values),
        together([r.estimand for r in rows]),
        words,
        table(heads, [*body, *factors]),
        some(summary, shown),
    )


def judges(summary: Summary) -> Figure:
    """Judge against tests."""
    rows = [r for r in summary.judges if r.number.estimate is not None]
    if not rows:
        return empty("judges", "Judge against tests", "No trial was judged by a model as well as by tests.")
    shown = leading(summary, 12)
    values = [
        {"arm": r.arm.label, "what": r.quantity, "estimate": r.number.estimate, "low": r.number.low, "high": r.number.high}
        for r in rows if r.arm.label in shown
    ]  # fmt: skip
    base = alt.Chart().encode(
        y=alt.Y("arm:N", sort=shown, title=None, axis=names_axis(34)), color=colour(domain=shown).legend(None)
    )
    hover = ["arm:N", "what:N", *(alt.Tooltip(f"{n}:Q", format=".2f") for n in ("estimate", "low", "high"))]
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=None), x2="high:Q", tooltip=hover)
    dots = base.mark_point(filled=True, size=60).encode(x="estimate:Q", tooltip=hover)
    chart = (
        alt.layer(bars, dots, data=ROWS)
        .properties(width=210, height=alt.Step(22))
        .facet(facet=alt.Facet("what:N", title=None), columns=3)
        .resolve_scale(x="independent")
    )
    body = [
        (
            r.arm.label,
            r.judge_version,
            r.quantity,
            r.number.estimate,
            r.number.low,
            r.number.high,
            r.trials,
            r.number.reason or "",
        )
        for r in summary.judges
    ]
    words = (
        "; ".join(
            f"{r.arm.label}: {r.quantity} {r.number.estimate:.2f}" for r in rows[:9] if r.number.estimate is not None
        )
        + "."
    )
    heads = ("arm", "judge", "quantity", "estimate", "low", "high", "trials", "reason")
    return Figure(
        "judges",
        "Judge against tests",
        spec(chart, values, across=3, beside=255),
        together([r.estimand for r in rows], "judge against tests"),
        words,
        table(heads, body),
        some(summary, shown),
    )
