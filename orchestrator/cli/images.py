"""`passhat images`: make what sandboxes are started from, before a sweep or where no registry can be reached."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Base and task images: bootstrap, build, list.", no_args_is_help=True)


@app.command("bootstrap")
def bootstrap() -> None:
    """Make the base image from Debian packages through this machine's own apt, and import it into the engine.

    Needed where no registry can be reached. Does nothing when the image is there.

    Example: passhat images bootstrap
    """
    from orchestrator.execution.preparing import ensure_base

    image = ensure_base(typer.echo)
    typer.echo(f"{image.reference} is ready ({image.digest_kind} digest {image.digest[:19]})")


@app.command("build")
def build(
    suite: Annotated[Path, typer.Argument(help="A suite folder or a task folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Build or pull the image of every task of a suite; what is there already is not made again.

    Example: passhat images build suites/pybugs
    """
    from orchestrator.execution.preparing import ensure_images

    failed = ensure_images(suite, typer.echo, as_json)
    raise typer.Exit(1 if failed else 0)
