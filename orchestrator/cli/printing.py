"""Summaries, comparisons and findings on a terminal of 80 columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from orchestrator.cli.tables import interval, print_table, share

if TYPE_CHECKING:
    from orchestrator.analysis.integrity import Finding
    from orchestrator.analysis.tables import ComparisonRow, Summary
    from orchestrator.core.status import ScoringRule


def scoring_rule(name: str) -> "ScoringRule":
    """A scoring rule by name. Raises typer.BadParameter with the names there are."""
    from orchestrator.core.status import ScoringRule

    try:
        return ScoringRule(name)
    except ValueError:
        raise typer.BadParameter(f"{name!r} is no scoring rule; there are {', '.join(ScoringRule)}.") from None


def print_arms(summary: "Summary") -> None:
    """The quoted numbers of every arm, and what they estimate, suite by suite."""
    from orchestrator.analysis.by_suite import of_suite, suites_of

    suites = suites_of(summary)
    for suite in suites:
        _print_suite(of_suite(summary, suite), f"suite {suite}" if len(suites) > 1 else "")


def _print_suite(summary: "Summary", title: str) -> None:
    rows, sentences = [], {}
    for row in summary.arms:
        if not row.quoted:
            continue
        number = row.number
        rate = row.estimand.statistic != "score"
        estimate = share(number.estimate) if rate else ("-" if number.estimate is None else f"{number.estimate:.4g}")
        limits = interval(number.low, number.high) if rate else _span(number.low, number.high)
        about = row.estimand
        n = str(about.n_min) if about.n_min == about.n_max else f"{about.n_min}-{about.n_max}"
        rows.append((row.arm.label, about.statistic, estimate, limits, str(about.tasks), n))
        if about.statistic == "pass@1":
            sentences[row.arm.label] = (about.sentence(), number.method)
    print_table(("arm", "statistic", "estimate", "95% interval", "tasks", "n"), rows, title=title, named=True)
    for sentence, method in list(sentences.values())[:1]:
        typer.echo(f"{sentence} Interval: {method}.")


def _span(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def print_findings(findings: Sequence["Finding"], at_most: int = 12) -> None:
    """What is wrong with the rows, worst first."""
    order = {"error": 0, "warning": 1, "note": 2}
    for finding in sorted(findings, key=lambda f: order[f.severity])[:at_most]:
        typer.echo(f"{finding.severity}: {finding.sentence}")
    if len(findings) > at_most:
        typer.echo(f"... and {len(findings) - at_most} more findings in the table `integrity`.")


def print_comparison(rows: Sequence["ComparisonRow"]) -> None:
    """A comparison: one line per statistic, marks first and loud."""
    marks = list(dict.fromkeys(mark for row in rows for mark in row.marks.split("; ") if mark))
    if marks:
        typer.secho(f"MARKED: {'; '.join(marks)}.", fg="red", bold=True, err=True)
    body = []
    for row in rows:
        money = row.statistic.startswith("cost")
        number = row.number
        if number.estimate is None:
            body.append((row.statistic, "-", "-", "-", "-", "cannot be given"))
            continue
        size = f"{number.estimate:+.4f}" if money else f"{100 * number.estimate:+.1f}"
        limits = "-"
        if number.low is not None and number.high is not None:
            limits = (
                f"{number.low:+.4f} {number.high:+.4f}"
                if money
                else f"{100 * number.low:+.1f} {100 * number.high:+.1f}"
            )
        p = "-" if row.p_value is None else f"{row.p_value:.3g}"
        body.append(
            (row.statistic, size, limits, p, f"{row.helped}/{row.hurt}/{row.tied}", row.equivalence.split(" within")[0])
        )
    print_table(("statistic", "difference", "95% interval", "p", "up/down/tied", "verdict"), body)
    if rows:
        typer.echo(rows[0].sentence)
        alike, worse = rows[0].p_equivalent, rows[0].p_not_inferior
        if alike is not None and worse is not None:
            typer.echo(
                f"Against the margin, {rows[0].statistic}: p = {alike:.3g} for equivalent, {worse:.3g} for not worse."
            )
        typer.echo(rows[0].estimand.sentence())


def print_alarms(summary: "Summary") -> None:
    """Waves and lanes that drift."""
    for row in summary.drift:
        if row.verdict.startswith("alarm"):
            typer.secho(row.sentence, fg="red", err=True)
