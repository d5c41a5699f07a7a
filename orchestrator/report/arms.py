"""Figures of arms by themselves: their scores, curves and tasks."""

from collections.abc import Sequence

import altair as alt

from orchestrator.analysis.tables import Summary
from orchestrator.report.figures import (
    MOST_ARMS,
    PALETTE,
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


def leading(summary: Summary, at_most: int = MOST_ARMS) -> list[str]:
    """Labels of the arms with the highest pass@1, best first; these keep their colour in every figure."""
    scores = {r.arm.label: r.number.estimate for r in summary.arms if r.quoted and r.estimand.statistic == "pass@1"}
    return sorted(scores, key=lambda label: (-(scores[label] or 0.0), label))[:at_most]


def some(summary: Summary, shown: Sequence[str]) -> str:
    """The note of a chart that shows some arms only."""
    everyone = {row.arm.label for row in summary.arms}
    left_out = len(everyone) - len(shown)
    return (
        f"The {len(shown)} arms with the highest pass@1 are drawn; {left_out} more are in the table."
        if left_out > 0
        else ""
    )


def scores(summary: Summary) -> Figure:
    """Arms with intervals."""
    rows = [r for r in summary.arms if r.quoted and r.number.estimate is not None and r.estimand.statistic == "pass@1"]
    if not rows:
        return empty("scores", "Arms", "No arm has a trial with a verdict.")
    rows.sort(key=lambda r: -(r.number.estimate or 0))
    values = [
        {
            "arm": r.arm.label,
            "estimate": r.number.estimate,
            "low": r.number.low,
            "high": r.number.high,
            "method": r.number.method,
        }
        for r in rows
    ]
    order = [r.arm.label for r in rows]
    y = alt.Y("arm:N", sort=order, title=None, axis=names_axis())
    base = alt.Chart(ROWS).encode(y=y)
    hover = [alt.Tooltip(f"{n}:Q", format=".1%") for n in ("estimate", "low", "high")]
    bars = base.mark_rule(strokeWidth=2, color=PALETTE[0]).encode(
        x=alt.X("low:Q", axis=share_axis("pass@1"), scale=alt.Scale(zero=False)), x2="high:Q", tooltip=["arm:N", *hover]
    )
    dots = base.mark_point(filled=True, size=70, color=PALETTE[0], opacity=1).encode(
        x="estimate:Q", tooltip=["arm:N", *hover, "method:N"]
    )
    chart = (bars + dots).properties(width="container", height=22 * len(rows) + 10)
    best, worst = rows[0], rows[-1]
    words = (
        f"Dot plot of pass@1 for {len(rows)} arms. Highest: {best.arm.label} with {percent(best.number.estimate)} "
        f"({span(best.number.low, best.number.high)}); lowest: {worst.arm.label} with {percent(worst.number.estimate)}."
    )
    everything = [
        (r.arm.label, r.estimand.statistic, percent(r.number.estimate) if r.estimand.statistic != "score" else r.number.estimate,
         span(r.number.low, r.number.high), r.number.method, "yes" if r.quoted else "", r.number.reason or r.number.interval_reason or "")
        for r in summary.arms
    ]  # fmt: skip
    heads = ("arm", "statistic", "estimate", "interval", "method", "quoted", "reason")
    return Figure(
        "scores", "Arms", spec(chart, values), together([r.estimand for r in rows]), words, table(heads, everything)
    )


def curves(summary: Summary) -> Figure:
    """pass@k and pass^k with pointwise intervals and simultaneous bands."""
    rows = [r for r in summary.curves if r.number.estimate is not None]
    if not rows:
        return empty("curves", "pass@k and pass^k", "No task has enough trials for a curve.")
    shown = leading(summary)
    values = [
        {
            "arm": r.arm.label, "k": r.k, "statistic": "pass@k: solved in any of k" if "@" in r.estimand.statistic else "pass^k: solved in all of k",
            "estimate": r.number.estimate, "low": r.number.low, "high": r.number.high, "from": r.band_low, "to": r.band_high,
        }
        for r in rows if r.arm.label in shown
    ]  # fmt: skip
    top = max(r.k for r in rows)
    x = alt.X("k:Q", axis=alt.Axis(tickMinStep=1, values=list(range(1, top + 1)), format="d", title="k"))
    arm = colour(domain=shown)
    pick = alt.selection_point(fields=["arm"], bind="legend", name="pick")
    faded = alt.condition(pick, alt.value(1.0), alt.value(0.08))
    base = alt.Chart().encode(x=x, color=arm)
    band = base.mark_area(line=False).encode(
        y=alt.Y("from:Q", axis=share_axis("share of tasks")),
        y2="to:Q",
        opacity=alt.condition(pick, alt.value(0.13), alt.value(0.0)),
    )
    line = base.mark_line(point=True, strokeWidth=2).encode(
        y="estimate:Q", opacity=faded,
        tooltip=["arm:N", "k:Q", *(alt.Tooltip(f"{n}:Q", format=".1%") for n in ("estimate", "low", "high"))],
    )  # fmt: skip
    chart = (
        alt.layer(band, line, data=ROWS)
        .add_params(pick)
        .properties(width=330, height=280)
        .facet(facet=alt.Facet("statistic:N", title=None, header=alt.Header(labelFontSize=13)), columns=2)
    )
    ends = [r for r in rows if r.k == top and r.arm.label in shown]
    words = (
        "Curves over k. At k = "
        + str(top)
        + ": "
        + "; ".join(f"{r.arm.label} {r.estimand.statistic} {percent(r.number.estimate)}" for r in ends[:8])
        + "."
    )
    body = [
        (r.arm.label, r.estimand.statistic, percent(r.number.estimate), span(r.number.low, r.number.high),
         span(r.band_low, r.band_high), r.estimand.tasks) for r in summary.curves
    ]  # fmt: skip
    heads = ("arm", "statistic", "estimate", "interval", "band over all k", "tasks")
    return Figure(
        "curves",
        "pass@k and pass^k",
        spec(chart, values, across=2, beside=80),
        together([r.estimand for r in rows], "pass@k and pass^k"),
        words,
        table(heads, body),
        some(summary, shown),
    )


def tasks(summary: Summary, at_most: int = 60) -> Figure:
    """Task by arm, flaky tasks first."""
    if not summary.tasks:
        return empty("tasks", "Tasks", "There are no tasks.")
    flaky: dict[str, float] = {}
    for row in summary.tasks:
        rate = row.c / row.n if row.n else 0.0
        flaky[row.task] = flaky.get(row.task, 0.0) + rate * (1 - rate)
    order = sorted(flaky, key=lambda task: (-flaky[task], task))
    shown, arms = order[:at_most], leading(summary, 16)
    chosen = set(shown)
    values = [
        {"task": r.task, "arm": r.arm.label, "c": r.c, "n": r.n, "share": r.c / r.n if r.n else None, "kind": r.kind}
        for r in summary.tasks if r.task in chosen and r.arm.label in arms
    ]  # fmt: skip
    base = alt.Chart(ROWS).encode(
        x=alt.X("arm:N", sort=arms, title=None, axis=names_axis(34, labelAngle=-40, orient="top")),
        y=alt.Y("task:N", sort=shown, title=None, axis=names_axis(36)),
    )
    scale = alt.Scale(domain=[0, 0.5, 1], range=["#b2402c", "#e9c46a", "#2a7f6f"])
    boxes = base.mark_rect(stroke="#88888855").encode(
        color=alt.Color("share:Q", scale=scale, legend=alt.Legend(format="%", title="solved", orient="right")),
        tooltip=["task:N", "arm:N", "c:Q", "n:Q", "kind:N"],
    )
    chart = boxes.properties(width=alt.Step(34), height=alt.Step(15))
    unsolved = sorted({r.task for r in summary.tasks if r.kind == "never solved"})
    count = {
        kind: sum(r.kind == kind for r in summary.tasks)
        for kind in ("flaky", "never solved", "always solved", "no verdict")
    }
    words = (
        "Heat map of the share of trials solved. Of all pairs of task and arm "
        + ", ".join(f"{number} are {kind}" for kind, number in count.items())
        + (
            f". Never solved by some arm: {', '.join(unsolved[:8])}{' and more' if len(unsolved) > 8 else ''}."
            if unsolved
            else "."
        )
    )
    place = {task: number for number, task in enumerate(order)}
    ranked = sorted(summary.tasks, key=lambda r: (place[r.task], r.arm.label))
    body = [
        (r.task, r.arm.label, f"{r.c}/{r.n}", r.kind, r.score, r.cost_usd, r.infrastructure_attempts, r.statuses)
        for r in ranked
    ]
    note = f"The {len(shown)} flakiest of {len(order)} tasks are drawn." if len(order) > len(shown) else ""
    heads = ("task", "arm", "solved", "kind", "score", "USD", "infra", "endings")
    sentence = "c of n trials solved for each task and arm; tasks whose outcome varies most come first. Never solved: suspect the task."
    return Figure("tasks", "Tasks", spec(chart, values), sentence, words, table(heads, body), note)
