"""`passhat run`: carry out what a sweep file says and is not settled yet."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    sweep: Annotated[Path, typer.Argument(help="The sweep file, e.g. sweep.toml.")],
    results: Annotated[
        str | None, typer.Option(help="Results root instead of the file's: a folder or s3://...")
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Ray cluster to join (auto, host:port, ray://...); none: this machine.")
    ] = None,
    cpus: Annotated[int | None, typer.Option(help="Cores of this machine to use; none: all.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Trials at once at most.")] = None,
    wave: Annotated[int | None, typer.Option(help="Run this wave now, whatever the schedule says.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Stay until the last wave is done.")] = False,
    strict_environment: Annotated[
        bool, typer.Option("--strict-environment", help="Stop when the environment changed since the wave before.")
    ] = False,
    metrics: Annotated[
        str | None, typer.Option(help="Serve Prometheus metrics at this port of the loopback, or host:port.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Events as JSON lines instead of a display.")] = False,
) -> None:
    """Run what is due of a sweep and not settled yet; the same command again goes on where it stopped.

    Ctrl-C once: running trials end, nothing new starts. Ctrl-C twice: everything ends at once.

    Example: passhat run sweep.toml
    """
    from orchestrator.execution.running import Request, run_due

    request = Request(
        sweep=sweep,
        results=results,
        address=address,
        cpus=cpus,
        concurrency=concurrency,
        wave=wave,
        wait=wait,
        strict_environment=strict_environment,
    )
    from orchestrator.cli.display import choose_display

    if metrics is None:
        raise typer.Exit(run_due(request, lambda: choose_display(as_json), quiet=as_json))
    from orchestrator.cli.metrics import Metered, serving

    with serving(metrics) as served:
        code = run_due(request, lambda: Metered(choose_display(as_json), served), quiet=as_json)
    raise typer.Exit(code)
