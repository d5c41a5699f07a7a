"""Figures of arms under conditions and against each other: resources, pairs, cost, days and judges."""

import altair as alt

from orchestrator.analysis.tables import Summary
from orchestrator.report.arms import leading, some
from orchestrator.report.figures import ROWS, Figure, colour, empty, percent, share_axis, span, spec, table, together


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
        y=alt.Y("arm:N", title=None, axis=alt.Axis(labelLimit=200)),
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
        .properties(width=185, height=alt.Step(12))
        .facet(column=alt.Column("what:N", title=None, header=alt.Header(labelFontSize=12)))
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
        spec(chart, values),
        together([r.estimand for r in rows]),
        words,
        table(heads, body),
        some(summary, shown),
    )


def differences(summary: Summary, at_most: int = 40) -> Figure:
    """Paired differences."""
    rows = [r for r in summary.comparisons if r.number.estimate is not None and r.statistic == "pass@1"]
    if not rows:
        return empty("differences", "Paired differences", "A difference needs two arms on the same tasks.")
    rows.sort(key=lambda r: -abs(r.number.estimate or 0))
    values = [
        {
            "pair": f"{r.second} − {r.first}", "estimate": r.number.estimate, "low": r.number.low, "high": r.number.high,
            "p": r.p_adjusted, "verdict": r.equivalence, "marks": r.marks or "none",
        }
        for r in rows[:at_most]
    ]  # fmt: skip
    order = [str(v["pair"]) for v in values]
    base = alt.Chart(ROWS).encode(y=alt.Y("pair:N", sort=order, title=None, axis=alt.Axis(labelLimit=300)))
    verdict = alt.Color(
        "verdict:N",
        scale=alt.Scale(range=["#2f7ed8", "#e4572e", "#1b9e77", "#7f7f7f"]),
        legend=alt.Legend(title=None, orient="top"),
    )
    hover = [
        "pair:N",
        "verdict:N",
        "marks:N",
        alt.Tooltip("p:Q", format=".3g"),
        *(alt.Tooltip(f"{n}:Q", format=".1%") for n in ("estimate", "low", "high")),
    ]
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", axis=share_axis("difference in pass@1")), x2="high:Q", color=verdict, tooltip=hover
    )
    dots = base.mark_point(filled=True, size=60).encode(x="estimate:Q", color=verdict, tooltip=hover)
    zero = (
        alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 4], color="#888888").encode(x="zero:Q")
    )
    chart = (zero + bars + dots).properties(width="container", height=20 * len(values) + 10)
    body = [
        (r.second, r.first, r.statistic, percent(r.number.estimate), span(r.number.low, r.number.high), r.p_value, r.p_adjusted,
         f"{r.helped}/{r.hurt}/{r.tied}", r.equivalence, r.marks or r.number.reason or "") for r in summary.comparisons
    ]  # fmt: skip
    heads = (
        "second",
        "less first",
        "statistic",
        "difference",
        "interval",
        "p",
        f"p ({rows[0].adjustment})",
        "helped/hurt/tied",
        "verdict",
        "marks",
    )
    note = f"The {at_most} largest of {len(rows)} differences are drawn." if len(rows) > at_most else ""
    words = " ".join(r.sentence for r in rows[:3])
    return Figure(
        "differences",
        "Paired differences",
        spec(chart, values),
        together([r.estimand for r in rows]),
        words,
        table(heads, body),
        note,
    )


def costs(summary: Summary) -> Figure:
    """Cost against accuracy, with the frontier."""
    score = {r.arm: r.number for r in summary.arms if r.quoted and r.estimand.statistic == "pass@1"}
    rows = [
        r
        for r in summary.costs
        if r.cost_per_trial_usd is not None and score.get(r.arm) and score[r.arm].estimate is not None
    ]
    body = [
        (r.arm.label, r.per_solved.estimate, f"{r.per_solved.low:.3g} to {r.per_solved.high:.3g}" if r.per_solved.low is not None and r.per_solved.high is not None else "–",
         r.cost_per_trial_usd, r.total_usd, r.cost_unknown, r.median_s, r.p90_s, r.median_turns, r.median_tokens,
         {True: "yes", False: "no", None: "–"}[r.on_frontier], percent(r.frontier_share), r.per_solved.reason or "") for r in summary.costs
    ]  # fmt: skip
    heads = (
        "arm",
        "USD per solved",
        "interval",
        "USD per trial",
        "USD in all",
        "cost unknown",
        "median s",
        "p90 s",
        "median turns",
        "median tokens",
        "frontier",
        "frontier share",
        "reason",
    )
    if not rows:
        missing = empty("costs", "Cost against accuracy", "No arm has a known cost.")
        return Figure(missing.key, missing.title, None, "", missing.words, table(heads, body), missing.note)
    values = [
        {
            "arm": r.arm.label, "cost": r.cost_per_trial_usd, "estimate": score[r.arm].estimate, "low": score[r.arm].low,
            "high": score[r.arm].high, "frontier": "on the frontier" if r.on_frontier else "dominated", "share": r.frontier_share,
        }
        for r in rows
    ]  # fmt: skip
    base = alt.Chart(ROWS).encode(x=alt.X("cost:Q", title="USD per trial", scale=alt.Scale(zero=False, nice=True)))
    hover = [
        "arm:N",
        alt.Tooltip("cost:Q", format="$.3f"),
        alt.Tooltip("estimate:Q", format=".1%"),
        alt.Tooltip("share:Q", format=".0%", title="resamples on the frontier"),
    ]
    mark = alt.Color(
        "frontier:N",
        scale=alt.Scale(domain=["on the frontier", "dominated"], range=["#1b9e77", "#8a8a8a"]),
        legend=alt.Legend(title=None, orient="top"),
    )
    bars = base.mark_rule().encode(
        y=alt.Y("low:Q", axis=share_axis("pass@1"), scale=alt.Scale(zero=False)), y2="high:Q", color=mark
    )
    dots = base.mark_point(filled=True, size=90).encode(y="estimate:Q", color=mark, tooltip=hover)
    line = (
        base.transform_filter("datum.frontier == 'on the frontier'")
        .mark_line(interpolate="step-after", strokeDash=[5, 3])
        .encode(y="estimate:Q", color=alt.value("#1b9e77"))
    )
    names = (
        base.mark_text(align="left", dx=8, dy=-6, fontSize=10).encode(y="estimate:Q", text="arm:N", color=mark)
        if len(values) <= 12
        else None
    )
    layers = [bars, line, dots, *([names] if names else [])]
    chart = alt.layer(*layers).properties(width="container", height=320)
    on = [r.arm.label for r in rows if r.on_frontier]
    words = f"Scatter plot of pass@1 against cost per trial for {len(rows)} arms. On the frontier: {', '.join(on)}."
    return Figure(
        "costs",
        "Cost against accuracy",
        spec(chart, values),
        together([r.estimand for r in rows]),
        words,
        table(heads, body),
    )


def days(summary: Summary) -> Figure:
    """Scores over days and waves: drift."""
    rows = [r for r in summary.days if r.number.estimate is not None]
    parts = [
        (r.arm.label, r.factor, r.levels, r.part, r.estimate, r.low, r.high, r.note or "") for r in summary.factors
    ]
    if len({r.day for r in rows}) < 2:
        return empty("days", "Days", "All trials ran on one day: nothing can be said about days.")
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
    days_body = [
        (
            r.arm.label,
            r.day,
            "score",
            percent(r.number.estimate),
            span(r.number.low, r.number.high),
            "",
            "",
            r.number.interval_reason or "",
        )
        for r in rows
    ]
    body = [
        *days_body,
        *(
            (
                a,
                f"{f} ({n} levels)",
                p,
                e,
                "" if lo is None else f"{lo:.2g} to {hi:.2g}" if hi is not None else "",
                "",
                "",
                note,
            )
            for a, f, n, p, e, lo, hi, note in parts
        ),
    ]
    words = (
        "Scores by day: " + "; ".join(f"{r.arm.label} {r.day} {percent(r.number.estimate)}" for r in rows[:10]) + "."
    )
    heads = ("arm", "day or factor", "what", "estimate", "interval", "", "", "note")
    return Figure(
        "days",
        "Days and drift",
        spec(chart, values),
        together([r.estimand for r in rows]),
        words,
        table(heads, body),
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
    base = alt.Chart().encode(y=alt.Y("arm:N", sort=shown, title=None), color=colour(domain=shown).legend(None))
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
        spec(chart, values),
        together([r.estimand for r in rows]),
        words,
        table(heads, body),
        some(summary, shown),
    )
