"""Figures of how much a score moves from run to run, and of what its variance consists."""

from collections.abc import Sequence

import altair as alt

from orchestrator.analysis.tables import RunRow, Summary
from orchestrator.report.arms import leading, some
from orchestrator.report.figures import (
    ROWS,
    Figure,
    colour,
    empty,
    names_axis,
    panel_header,
    percent,
    share_axis,
    spec,
    table,
)


def runs(summary: Summary) -> Figure:
    """Run-to-run scores by repeat and day."""
    rows = [r for r in summary.runs if r.score is not None]
    if not rows:
        return empty("runs", "From run to run", "No repeat has verdicts to score.")
    shown = leading(summary, 8)
    values = [
        {"arm": r.arm.label, "day": r.day, "run": f"day {r.day}, repeat {r.repeat}", "score": r.score}
        for r in rows if r.arm.label in shown
    ]  # fmt: skip
    chart = (
        alt.Chart(ROWS)
        .mark_tick(thickness=2, size=16)
        .encode(
            x=alt.X("score:Q", axis=share_axis("score of one run"), scale=alt.Scale(zero=False)),
            y=alt.Y("day:N", title=None),
            row=alt.Row(
                "arm:N",
                title=None,
                sort=shown,
                header=panel_header(),
            ),
            color=colour(domain=shown).legend(None),
            tooltip=["arm:N", "run:N", alt.Tooltip("score:Q", format=".1%")],
        )
        .properties(width=520, height=alt.Step(18))
    )
    body = [
        (r.arm.label, r.runs, percent(r.lowest), percent(r.highest), percent(r.sd_observed), percent(r.sd_expected),
         percent(r.sd_expected_unbiased), r.p_value, percent(r.smallest_difference), r.reason or "") for r in summary.run_summaries
    ]  # fmt: skip
    heads = (
        "arm",
        "runs",
        "lowest",
        "highest",
        "SD",
        "SD expected (plug-in)",
        "SD expected (unbiased)",
        "p shuffle",
        "runs must differ by",
        "reason",
    )
    told = [f"{r.arm.label}: {r.sentence}" for r in summary.run_summaries if r.arm.label in shown][:4]
    words = " ".join(told)
    return Figure(
        "runs",
        "From run to run",
        spec(chart, values, across=1, beside=110),
        _runs_sentence(rows),
        words,
        table(heads, body),
        "\n".join([*told, some(summary, shown)]).strip(),
    )


def _runs_sentence(rows: Sequence[RunRow]) -> str:
    tasks, days = [row.tasks for row in rows], sorted({row.day for row in rows})
    size = str(tasks[0]) if len(set(tasks)) == 1 else f"{min(tasks)} to {max(tasks)}"
    return (
        f"Score of one run, which is one repeat of one wave over {size} tasks with 1 trial each, on {len(days)} days "
        f"({days[0]} to {days[-1]}), for these exact tasks; the shuffle test permutes each task's outcomes across runs."
    )


def variance(summary: Summary) -> Figure:
    """The parts of the variance of a score."""
    rows = [r for r in summary.variance if r.share is not None]
    if not rows:
        return empty(
            "variance", "Where the variance comes from", "Variance parts need two tasks and two trials of each."
        )
    shown = leading(summary)
    values = [
        {"arm": r.arm.label, "part": r.part, "share": r.share, "variance": r.unbiased}
        for r in rows
        if r.arm.label in shown
    ]
    chart = (
        alt.Chart(ROWS)
        .mark_bar()
        .encode(
            x=alt.X("share:Q", axis=share_axis("share of the squared standard error"), stack="normalize"),
            y=alt.Y("arm:N", sort=shown, title=None, axis=names_axis()),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(range=["#2f7ed8", "#e9a23b", "#1b9e77", "#9467bd"]),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=["arm:N", "part:N", alt.Tooltip("share:Q", format=".1%"), alt.Tooltip("variance:Q", format=".4f")],
        )
        .properties(width="container", height=26 * len({v["arm"] for v in values}) + 10)
    )
    body = [(r.arm.label, r.part, r.unbiased, r.plug_in, percent(r.share), r.note or "") for r in summary.variance]
    sentence = (
        "Variance of a task's score between tasks and within a task from trial to trial, and their shares of the squared "
        "standard error of the mean: only the part within tasks can be removed by more repeats."
    )
    words = "; ".join(f"{r.arm.label}: {r.part} {percent(r.share)}" for r in rows[:8]) + "."
    heads = ("arm", "part", "unbiased", "plug-in", "share of error", "note")
    return Figure(
        "variance",
        "Where the variance comes from",
        spec(chart, values),
        sentence,
        words,
        table(heads, body),
        some(summary, shown),
    )
