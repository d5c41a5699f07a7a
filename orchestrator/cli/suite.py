"""`passhat suite`: check, lint, new and import task folders."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Check, lint, make and import suites.", no_args_is_help=True)


@app.command("check")
def check(
    suite: Annotated[Path, typer.Argument(help="A suite folder or a task folder.")],
    repeats: Annotated[int, typer.Option(min=1, help="Times each agent runs each task.")] = 1,
    include: Annotated[list[str] | None, typer.Option(help="Only tasks that match this pattern.")] = None,
    results: Annotated[str | None, typer.Option(help="Keep the rows in this folder.")] = None,
    headroom: Annotated[str, typer.Option(help="Limit over promise: a number or uncapped.")] = "1.0",
    pinned: Annotated[bool, typer.Option("--pinned", help="On exclusive cores.")] = False,
    address: Annotated[str | None, typer.Option(help="Ray cluster to join; none: this machine.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the oracle (must pass every time) and nop (must never pass) on every task; name each that breaks a rule.

    Example: passhat suite check suites/pybugs --repeats 3
    """
    import json
    import tempfile
    from contextlib import ExitStack
    from dataclasses import asdict

    from orchestrator.cli.display import PlainDisplay, choose_display
    from orchestrator.execution.checking import CheckRequest, check_suite

    with ExitStack() as held:
        folder = results or held.enter_context(tempfile.TemporaryDirectory(prefix="passhat-check-"))
        request = CheckRequest(suite, folder, repeats, tuple(include or ()), headroom, pinned, address)
        import sys

        checks = check_suite(request, (lambda: PlainDisplay(sys.stderr)) if as_json else lambda: choose_display(False))
    broken = [found for found in checks if found.broken]
    if as_json:
        typer.echo(json.dumps([asdict(found) for found in checks]))
    else:
        for found in broken:
            for reason in found.broken:
                typer.echo(f"BROKEN {found.task}: {reason}")
        typer.echo(f"{len(checks) - len(broken)} of {len(checks)} tasks hold: the oracle passed, doing nothing did not")
    raise typer.Exit(1 if broken else 0)
