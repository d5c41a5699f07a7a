"""`passhat import`: results of other harnesses as rows."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    path: Annotated[
        Path, typer.Argument(help="A file or folder: Harbor jobs, Inspect logs, tau-bench, SWE-bench, CSV ...")
    ],
    results: Annotated[str, typer.Option(help="Results folder or URI to add the rows to.")] = "results",
    format_name: Annotated[str | None, typer.Option("--format", help="The format, where it is not recognised.")] = None,
    suite: Annotated[str | None, typer.Option(help="Name of the suite, instead of the file's.")] = None,
    agent: Annotated[str | None, typer.Option(help="Name of the agent, instead of the file's.")] = None,
    resources: Annotated[str | None, typer.Option(help="Name of the resource setting; unknown otherwise.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            help="MEANING=COLUMN of a table, e.g. passed=any_medal; score=SCORER of an Inspect log; tasks=50 of figures.",
        ),
    ] = None,
    pass_at: Annotated[float, typer.Option(help="Least score that passes, where only scores are told.")] = 1.0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be known and unknown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Add rows; what a format does not tell stays unknown. Importing the same path again doubles nothing.

    Exits with 1 where records were refused, or rows are odd enough to look at. Example: passhat import jobs/my-job --results results --dry-run
    """
    import json

    from orchestrator.analysis.importers.base import Options
    from orchestrator.analysis.importers.run import import_results

    mapping = {}
    for item in column or ():
        meaning, equals, name = item.partition("=")
        if not equals or not meaning or not name:
            raise typer.BadParameter(f"--map {item!r} is not MEANING=COLUMN.")
        mapping[meaning] = name
    options = Options(suite, agent, resources, "live", mapping, pass_at)
    report = import_results(path, None if dry_run else results, options, format_name=format_name)
    if as_json:
        told = {
            "format": report.format, "rows": report.rows, "statuses": dict(report.statuses), "files": report.files,
            "known": dict(report.known), "unknown": report.unknown, "refused": report.refused_count,
            "reasons": [{"where": r.where, "reason": r.reason} for r in report.refused],
            "remarks": [{"where": r.where, "remark": r.reason} for r in report.remarks],
            "remarked": report.remarks_count, "suites": report.suites, "by_score": report.by_score,
        }  # fmt: skip
        typer.echo(json.dumps(told, indent=1))
    else:
        endings = ", ".join(f"{count} {status}" for status, count in sorted(report.statuses.items()))
        typer.echo(f"{report.format}: {report.rows} rows {'would be' if dry_run else 'were'} imported ({endings}).")
        if len(report.suites) > 1:
            typer.echo(f"They are of {len(report.suites)} suites, each under its own name: {', '.join(report.suites)}.")
        if report.by_score:
            typer.echo(
                f"Nothing but the score tells whether {report.by_score} of them passed: a score of {pass_at:g} or more "
                "counts as a pass; say otherwise with --pass-at, or name the column: --map passed=COLUMN."
            )
        if dry_run:
            partly = [f"{n} ({c} of {report.rows})" for n, c in report.known.items() if c < report.rows]
            typer.echo("Known in every row: " + ", ".join(n for n, c in report.known.items() if c == report.rows) + ".")
            typer.echo("Known in some: " + (", ".join(partly) or "none") + ".")
            typer.echo("Unknown: " + ", ".join(report.unknown) + ".")
        for word, listed, count in (
            ("refused", report.refused, report.refused_count),
            ("look at", report.remarks, report.remarks_count),
        ):
            for entry in listed[:20]:
                typer.echo(f"{word}: {entry.where}: {entry.reason}.", err=True)
            if count > 20:
                typer.echo(f"{word}: ... {count} in all.", err=True)
        if report.doubled and report.format == "table":
            typer.echo(
                "If another column tells such rows apart, say what it holds: --map suite=COLUMN, or agent, resources, repeat.",
                err=True,
            )
    raise typer.Exit(1 if report.refused_count or report.remarks_count else 0)
