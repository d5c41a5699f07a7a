"""`passhat model`: the scripted model, and what models cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.models.script import Script

app = typer.Typer(no_args_is_help=True, help="The scripted model server, and the price table.")


@app.command("serve-script")
def serve_script_command(
    script: Annotated[Path | None, typer.Argument(help="A script as JSON; see `passhat model example`.")] = None,
    suite: Annotated[Path | None, typer.Option(help="Script this suite from its reference solutions.")] = None,
    port: Annotated[int, typer.Option(help="Port; 0: a free one.")] = 8099,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the luck of erratic models, with --suite.")] = 0,
    success: Annotated[float, typer.Option(min=0.0, max=1.0, help="Rate of both models, with --suite.")] = 0.7,
) -> None:
    """Serve a model that plays a script over the Messages API, until it is interrupted. It is no model.

    Example: passhat model serve-script --suite suites/pybugs --port 8099
    """
    import threading

    from orchestrator.models.script_server import ScriptedModel, serve_script

    played = _load(script, suite, seed, success)
    with serve_script(ScriptedModel(played), host, port) as server:
        typer.echo(f"{played.name}: {len(played.cases)} cases for {', '.join(played.models)} at {server.url}")
        threading.Event().wait()


@app.command("example")
def example_command() -> None:
    """Print a commented example of a script. Example: passhat model example > script.json"""
    from orchestrator.models.script import Behaviour, Case, Script, ToolUse, Turn

    turn = Turn(thinking="a thought", text="I look.", tools=(ToolUse(input={"command": "ls"}),))
    case = Case(match="words of the instruction", solve=(turn, Turn(text="Done.")), fail=(Turn(text="I give up."),))
    models = {"scripted-erratic": Behaviour(success=0.6), "scripted-steady": Behaviour(success=0.6, steady=True)}
    typer.echo(Script(name="example", models=models, cases=(case,)).model_dump_json(indent=1, exclude_defaults=True))


@app.command("prices")
def prices_command(
    model: Annotated[str | None, typer.Argument(help="Only this model.")] = None,
    override: Annotated[Path | None, typer.Option(help="A price table that goes before the one that ships.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Prices in force today, in USD per million tokens. Example: passhat model prices claude-haiku-4-5"""
    import json
    from datetime import UTC, datetime

    from orchestrator.models.prices import builtin_prices

    table = builtin_prices()
    if override is not None:
        table = table.overridden(override.read_text(encoding="utf-8"), str(override))
    today = datetime.now(UTC).date()
    names = [model] if model is not None else sorted(table.models)
    found = {name: price for name in names if (price := table.price(name, today)) is not None}
    if as_json:
        rows = {name: price.model_dump(mode="json", by_alias=True) for name, price in found.items()}
        typer.echo(json.dumps({"version": table.version, "prices": rows}, indent=1))
    else:
        typer.echo(f"price table {table.version}, USD per million tokens")
        for name, price in found.items():
            typer.echo(f"{name:24} in {price.input:g}  out {price.output:g}  cache read {price.cache_read:g}")
    if not found:
        typer.echo(f"{model}: no price is known; it costs null until a table of yours says otherwise", err=True)
        raise typer.Exit(1)


def _load(script: Path | None, suite: Path | None, seed: int, success: float) -> "Script":
    from pydantic import ValidationError

    from orchestrator.models.script import Behaviour, Script
    from orchestrator.models.suite_script import MODELS, suite_script

    if (script is None) == (suite is None):
        typer.echo("give either a script or --suite", err=True)
        raise typer.Exit(2)
    if suite is not None:
        models = {name: Behaviour(success=success, steady=kept.steady) for name, kept in MODELS.items()}
        return suite_script(suite, seed, models | {"scripted": MODELS["scripted"]})
    assert script is not None
    try:
        return Script.model_validate_json(script.read_text(encoding="utf-8"))
    except ValidationError as error:
        fault = error.errors()[0]
        typer.echo(f"{script}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}", err=True)
        raise typer.Exit(2) from None
