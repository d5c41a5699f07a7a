"""`passhat status`: what a results root holds, and how far each sweep is."""

from typing import Annotated

import typer


def command(
    results: Annotated[str, typer.Argument(help="A results root.")] = "results",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Sweeps of a results root: trials planned, settled, passed and without a verdict, and whether one runs now.

    Example: passhat status results
    """
    import json
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table

    from orchestrator.storage.sweep_status import sweep_statuses

    found = sweep_statuses(results)
    if as_json:
        typer.echo(json.dumps([asdict(status) for status in found], default=str))
        return
    if not found:
        typer.echo(f"{results} holds no sweep; `passhat run sweep.toml` makes one", err=True)
        raise typer.Exit(1)
    table = Table(box=None, header_style="dim", padding=(0, 1))
    table.add_column("sweep", overflow="fold")
    for head in ("planned", "settled", "passed", "no verdict", "attempts", "running now"):
        table.add_column(head, justify="right")
    for status in found:
        table.add_row(
            status.sweep_id,
            str(status.planned),
            str(status.settled),
            str(status.passed),
            str(status.without_verdict),
            str(status.attempts),
            "yes" if status.running else "no",
        )
    Console().print(table)
    for status in found:
        for problem in status.problems:
            typer.echo(f"{status.sweep_id}: {problem}", err=True)
