"""`passhat show`: every column of the attempts of one trial or task."""

from typing import Annotated

import typer


def command(
    what: Annotated[str, typer.Argument(help="An attempt id, a trial key, or a task's name.")],
    results: Annotated[str, typer.Option(help="A results root.")] = "results",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The attempts of a trial or task: a line each, or every column when there is one.

    Example: passhat show jsonpatch-remove-dash --results results
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from orchestrator.storage.finding import find_rows

    rows = find_rows(results, what)
    if as_json:
        typer.echo(json.dumps(rows, default=str))
        return
    if not rows:
        message = f"{results} has no attempt, trial or task {what!r}; `passhat status {results}` lists its sweeps"
        typer.echo(message, err=True)
        raise typer.Exit(1)
    console = Console()
    if len(rows) > 1:
        table = Table(box=None, header_style="dim", padding=(0, 1))
        for head in ("attempt", "arm", "rep", "status", "seconds", "failure"):
            table.add_column(head, overflow="fold" if head == "failure" else "ellipsis", no_wrap=head != "failure")
        for row in rows:
            seconds = row["total_s"]
            table.add_row(
                str(row["attempt_id"]),
                str(row["arm"]),
                str(row["repeat"]),
                str(row["status"]),
                f"{seconds:.2f}" if isinstance(seconds, float) else "-",
                str(row["failure_message"] or "").splitlines()[0][:60] if row["failure_message"] else "",
            )
        console.print(table)
        return
    _print_row(rows[0])


def _print_row(row: dict[str, object]) -> None:
    from orchestrator.core.columns import COLUMNS, GROUPS

    for group in GROUPS:
        typer.secho(group, bold=True)
        for column in COLUMNS:
            if column.group == group and row[column.name] is not None:
                typer.echo(f"  {column.name:<34} {row[column.name]}")
