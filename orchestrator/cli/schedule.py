"""`passhat schedule`: the ready unit that calls `passhat run` at the right times."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    sweep: Annotated[Path, typer.Argument(help="The sweep file.")],
    cron: Annotated[bool, typer.Option("--cron", help="A crontab line.")] = False,
    systemd: Annotated[bool, typer.Option("--systemd", help="A systemd service and timer.")] = False,
    kubernetes: Annotated[bool, typer.Option("--kubernetes", help="A Kubernetes CronJob.")] = False,
) -> None:
    """Print when the waves are due, or a unit that calls `passhat run` often enough; calls with nothing due leave at once.

    Example: passhat schedule sweep.toml --systemd
    """
    from datetime import UTC, datetime

    from orchestrator.config import load_sweep
    from orchestrator.core.waves import due_times
    from orchestrator.execution.rhythm import rhythm_of
    from orchestrator.execution.units import cron_line, kubernetes_cronjob, systemd_units

    config = load_sweep(sweep)
    times = due_times(rhythm_of(config), datetime.now(UTC))
    path = sweep.resolve()
    if cron:
        typer.echo(cron_line(path))
    if systemd:
        typer.echo(systemd_units(config.name, path))
    if kubernetes:
        typer.echo(kubernetes_cronjob(config.name, path))
    if not (cron or systemd or kubernetes):
        for number, moment in enumerate(times):
            typer.echo(f"wave {number}: {moment:%Y-%m-%d %H:%M} UTC, were the sweep started now")
