"""Figures of what was asked across arms: ranks, effects of resources, drift over waves and equal judging."""

from collections.abc import Sequence

import altair as alt

from orchestrator.analysis.floors import ORACLE
from orchestrator.analysis.tables import EffectRow, Summary
from orchestrator.report.figures import (
    ROWS,
    Figure,
    empty,
    names_axis,
    percent,
    share_axis,
    span,
    spec,
    table,
    together,
)

_CALM, _LOUD = "#7f8a97", "#e4572e"
_HEADS = ("about", "what", "estimate", "interval", "level", "p", "p adjusted", "verdict", "method or reason")


def ranks(summary: Summary, at_most: int = 60) -> Figure:
    """Rank intervals of all arms at once, and groups that cannot be told apart."""
    rows = summary.ranks[:at_most]
    title = "Ranks"
    if not rows:
        return empty("ranks", title, "A rank needs two arms on the same tasks.")
    values = [
        {
            "arm": r.arm.label, "low": r.rank_best - 0.25, "high": r.rank_worst + 0.25, "mean": r.mean,
            "groups": r.groups, "ranks": f"{r.rank_best} to {r.rank_worst}",
        }
        for r in rows
    ]  # fmt: skip
    order = [str(value["arm"]) for value in values]
    hover = ["arm:N", "ranks:N", "groups:N", alt.Tooltip("mean:Q", format=".1%", title="pass@1")]
    axis = alt.Axis(title="rank by pass@1 (1 is best)", tickMinStep=1, format="d")
    chart = (
        alt.Chart(ROWS)
        .mark_bar(height=10, cornerRadius=5, color="#2f7ed8")
        .encode(
            y=alt.Y("arm:N", sort=order, title=None, axis=names_axis()),
            x=alt.X("low:Q", axis=axis, scale=alt.Scale(domain=[0.5, len(summary.ranks) + 0.5], nice=False)),
            x2="high:Q",
            tooltip=hover,
        )
        .properties(width="container", height=22 * len(values) + 10)
    )
    body = [(r.arm.label, percent(r.mean), r.rank_best, r.rank_worst, r.groups, f"{r.flips:,}") for r in summary.ranks]
    heads = ("arm", "pass@1", "best rank", "worst rank", "groups not told apart", "shared flips")
    words = " ".join(r.sentence for r in rows[:4])
    note = f"Arms that share a group number cannot be told apart; {rows[0].flips:,} sign flips shared by all pairs."
    if len(summary.ranks) > at_most:
        note += f" The first {at_most} of {len(summary.ranks)} arms are drawn."
    sentence = together([r.estimand for r in summary.ranks])
    return Figure("ranks", title, spec(chart, values), sentence, words, table(heads, body), note)


def resource_effects(summary: Summary) -> Figure:
    """Contrasts, trend, neutral bands and the split of the gain; single tasks and the noise floor in the table."""
    title = "What resources do"
    rows = summary.resource_effects
    if not rows:
        return empty("effects", title, "An effect of resources needs one agent under two settings on the same tasks.")
    drawn = [r for r in rows if not r.quantity.startswith(("task ", "noise floor"))]
    floors = [r for r in rows if r.quantity.startswith("noise floor")]
    changing = [r for r in rows if r.quantity.startswith("task ")]
    told = [
        f"{sum(r.p_value is not None for r in changing)} tasks change with resources at a false discovery rate of 10%."
    ]
    told += [r.sentence for r in changing if r.p_value is None][:1]
    if floors:
        worst = max(floors, key=lambda r: r.number.high or 0.0)
        told.append(f"Noise floor: {worst.sentence} Its rate is {percent(worst.number.estimate)}"
                    f" ({span(worst.number.low, worst.number.high)}).")  # fmt: skip
    else:
        told.append(f"The agent {ORACLE} was not run, so that no noise floor is known: add it to the sweep.")
    return _forest("effects", title, drawn or rows, rows, "change in pass@1", "\n".join(told))


def drift(summary: Summary) -> Figure:
    """Later waves against the first, with the chance of any false alarm held over all of them."""
    title = "Drift over waves"
    rows = summary.drift
    if not rows:
        return empty("drift", title, "Drift needs two waves on the same tasks: run the sweep again on another day.")
    alarms = [r for r in rows if r.verdict.startswith("alarm")]
    note = "\n".join(r.sentence for r in alarms[:10]) or "No wave raised an alarm."
    if len(alarms) > 10:
        note += f"\n{len(alarms) - 10} more alarms stand in the table."
    return _forest("drift", title, rows, rows, "wave less first wave, pass@1", note)


def judge_effects(summary: Summary) -> Figure:
    """Whether the judge errs alike on all arms, and how far it moves the gaps between them."""
    title = "Does the judge treat arms alike?"
    rows = summary.judge_effects
    if not rows:
        return empty("fairness", title, "This needs two arms that a judge and tests graded on the same tasks.")
    drawn = [r for r in rows if r.quantity.startswith("gap moved")]
    note = "\n".join(r.sentence for r in rows if r.quantity.startswith("equal "))
    note += f"\nThe best arm by the tests stands against the next {len(drawn)} arms."
    return _forest("fairness", title, drawn or rows, rows, "gap by the judge less gap by the tests", note)


def _forest(
    key: str, title: str, drawn: Sequence[EffectRow], rows: Sequence[EffectRow], axis: str, note: str, at_most: int = 40
) -> Figure:
    """Estimates with intervals, loud where the verdict is one; all rows in the table."""
    known = [r for r in drawn if r.number.estimate is not None]
    if len(known) > at_most:
        loudest = sorted(known, key=lambda r: (not _loud(r), -abs(r.number.estimate or 0.0)))[:at_most]
        note += f"\n{at_most} of {len(known)} are drawn, those with a verdict first."
        known = loudest
    values: list[dict[str, object]] = []
    for r in known:
        if r.subject not in {value["subject"] for value in values}:
            values.append({"place": len(values), "subject": r.subject, "heading": r.subject})
        values.append({
            "place": len(values), "subject": r.subject, "row": r.quantity, "estimate": r.number.estimate,
            "low": r.number.low, "high": r.number.high, "p": r.p_adjusted if r.p_adjusted is not None else r.p_value,
            "verdict": r.verdict or "no test", "kind": "with a verdict" if _loud(r) else "without",
        })  # fmt: skip
    chart = _panels(axis).properties(width="container", height=32 * len(values) + 10)
    body = [
        (r.subject, r.quantity, percent(r.number.estimate), span(r.number.low, r.number.high), r.number.level,
         r.p_value, r.p_adjusted, r.verdict, r.number.reason or r.number.interval_reason or r.number.method)
        for r in rows
    ]  # fmt: skip
    words = " ".join(r.sentence for r in [*(r for r in drawn if _loud(r)), *drawn][:4])
    sentence = together([r.estimand for r in drawn])
    picture = spec(chart, values) if values else None
    return Figure(key, title, picture, sentence, words, table(_HEADS, body), note.strip())


def _panels(axis: str) -> alt.LayerChart | alt.FacetChart:
    """Lines with their names above them, under headings. Beside lines a phone would cut names to the same few letters;
    each row is high enough for a name and its line, and no grid crosses them."""
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["with a verdict", "without"], range=[_LOUD, _CALM]),
        legend=alt.Legend(title=None, orient="top"),
    )
    hover: list[str | alt.Tooltip] = ["subject:N", "row:N", "verdict:N", alt.Tooltip("p:Q", format=".3g")]
    hover += [alt.Tooltip(f"{name}:Q", format=".1%") for name in ("estimate", "low", "high")]
    base = alt.Chart(ROWS).encode(y=alt.Y("place:O", axis=None))
    words = base.mark_text(align="left", baseline="bottom", dx=2, dy=-8, fontSize=11, limit=760)
    names = words.encode(x=alt.value(0), text="row:N").transform_filter("isValid(datum.row)")
    headings = base.mark_text(align="left", baseline="bottom", dx=2, dy=6, fontSize=12, fontWeight="bold", limit=760)
    headings = headings.encode(x=alt.value(0), text="heading:N").transform_filter("isValid(datum.heading)")
    lines = base.transform_filter("isValid(datum.row)").encode(color=colour, tooltip=hover)
    bars = lines.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", axis=share_axis(axis, grid=False)), x2="high:Q")
    dots = lines.mark_point(filled=True, size=60, opacity=1).encode(x="estimate:Q")
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(strokeDash=[4, 4], color="#888888")
    return alt.layer(zero.encode(x="zero:Q"), bars, dots, names, headings)


def _loud(row: EffectRow) -> bool:
    return row.verdict not in ("", "undecided", "no alarm", "inconclusive", "measured", "not compared")
