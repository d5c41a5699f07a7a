"""Figures of arms against each other: paired differences, and cost against accuracy."""

import altair as alt

from orchestrator.analysis.tables import Summary
from orchestrator.report.arms import leading
from orchestrator.report.figures import (
    MOST_ARMS,
    ROWS,
    Figure,
    colour,
    empty,
    pair_axis,
    percent,
    share_axis,
    span,
    spec,
    table,
    together,
)


def differences(summary: Summary, at_most: int = 40) -> Figure:
    """Paired differences."""
    rows = [r for r in summary.comparisons if r.number.estimate is not None and r.statistic == "pass@1"]
    if not rows:
        return empty("differences", "Paired differences", "A difference needs two arms on the same tasks.")
    rows.sort(key=lambda r: -abs(r.number.estimate or 0))
    values = [
        {
            "pair": f"{r.second}\n− {r.first}", "estimate": r.number.estimate, "low": r.number.low, "high": r.number.high,
            "p": r.p_adjusted, "verdict": r.equivalence, "marks": r.marks or "none",
        }
        for r in rows[:at_most]
    ]  # fmt: skip
    order = [str(v["pair"]) for v in values]
    base = alt.Chart(ROWS).encode(y=alt.Y("pair:N", sort=order, title=None, axis=pair_axis()))
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
    chart = (zero + bars + dots).properties(width="container", height=34 * len(values) + 10)
    body = [
        (r.second, r.first, r.statistic, percent(r.number.estimate), span(r.number.low, r.number.high), r.p_value, r.p_adjusted,
         r.p_all_pairs, r.flips, r.p_equivalent, r.p_not_inferior, f"{r.helped}/{r.hurt}/{r.tied}", r.equivalence, r.marks or r.number.reason or "") for r in summary.comparisons
    ]  # fmt: skip
    heads = (
        "second",
        "less first",
        "statistic",
        "difference",
        "interval",
        "p",
        f"p ({rows[0].adjustment})",
        "p (all pairs, max-T)",
        "flips",
        "p equivalent",
        "p not inferior",
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
         {True: "yes", False: "no", None: "–"}[r.on_frontier], percent(r.frontier_share), r.frontier_place, r.frontier_rival, r.per_solved.reason or "") for r in summary.costs
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
        "by resampling",
        "most often beaten by",
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
    # Arms in the colours of the other figures; names beside points would cover each other where arms are alike.
    mark = colour(domain=leading(summary)) if len(values) <= MOST_ARMS else alt.value("#2f7ed8")
    place = alt.Shape(
        "frontier:N",
        scale=alt.Scale(domain=["on the frontier", "dominated"], range=["diamond", "circle"]),
        legend=alt.Legend(title=None, orient="bottom", symbolFillColor="#8a8a8a", symbolStrokeColor="#8a8a8a"),
    )
    bars = base.mark_rule().encode(
        y=alt.Y("low:Q", axis=share_axis("pass@1"), scale=alt.Scale(zero=False)), y2="high:Q", color=mark
    )
    dots = base.mark_point(filled=True, size=110, opacity=1).encode(
        y="estimate:Q", color=mark, shape=place, tooltip=hover
    )
    line = (
        base.transform_filter("datum.frontier == 'on the frontier'")
        .mark_line(interpolate="step-after", strokeDash=[5, 3])
        .encode(y="estimate:Q", color=alt.value("#8a8a8a"))
    )
    chart = alt.layer(line, bars, dots).properties(width="container", height=320)
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
