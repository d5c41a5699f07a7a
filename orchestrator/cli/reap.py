"""`passhat reap`: remove what dead owners left in this machine's engine."""

from typing import Annotated

import typer


def command(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Remove containers, networks and volumes whose owner is dead or whose deadline has passed.

    Goes by label, never by name, and never touches what a living owner holds, also another user's.

    Example: passhat reap
    """
    import json
    import os
    from dataclasses import asdict

    from sandboxes.docker import DockerProvider
    from sandboxes.reaper import reap

    with DockerProvider.from_environment(os.environ) as provider:
        reaped = reap(provider.engine)
    if as_json:
        typer.echo(json.dumps(asdict(reaped)))
        return
    typer.echo(
        f"removed {len(reaped.containers)} containers, {len(reaped.networks)} networks, {len(reaped.volumes)} volumes;"
        f" {len(reaped.kept)} belong to living owners and were left"
    )
