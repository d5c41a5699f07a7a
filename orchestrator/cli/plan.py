"""`passhat plan`: what a sweep will do and what it can show. Nothing starts."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    sweep: Annotated[Path, typer.Argument(help="The sweep file.")],
    results: Annotated[str | None, typer.Option(help="Results root instead of the file's.")] = None,
    cpus: Annotated[int | None, typer.Option(help="Cores to reckon with; none: this machine's.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Trials, expected hours and cost, what does not fit, the power of the comparisons, better splits, due times.

    Example: passhat plan sweep.toml
    """
    import json
    from dataclasses import asdict
    from datetime import UTC, datetime

    from orchestrator.cli.tables import print_table
    from orchestrator.execution.forecast import forecast
    from orchestrator.execution.running import Request, load

    frozen, root = load(Request(sweep=sweep, results=results), datetime.now(UTC))
    seen = forecast(frozen, root, cpus, None)
    if as_json:
        typer.echo(json.dumps(asdict(seen)))
        raise typer.Exit(1 if seen.misfits else 0)
    typer.echo(
        f"{seen.arms} arms x {seen.tasks} tasks x {seen.repeats} repeats x {seen.waves} waves = {seen.trials} trials,"
        f" {seen.settled} of them settled"
    )
    if seen.hours is None:
        typer.echo("hours and cost: not known, no earlier rows of every agent on this suite in these results")
    else:
        cost = "unknown" if seen.cost_usd is None else f"{seen.cost_usd:.2f} USD"
        typer.echo(f"expected: {seen.hours:.2f} hours on this machine, cost {cost} (from {seen.based_on_rows} rows)")
    for line in (*seen.notices, *seen.misfits):
        typer.echo(f"note: {line}")
    if seen.comparisons:
        heads = ("pair of arms", "smallest", "at", "power z", "power test", "from")
        print_table(
            heads,
            [
                (
                    f"{c.first} / {c.second}",
                    f"{100 * c.smallest_difference:.1f}",
                    f"{100 * c.difference:.1f}",
                    f"{100 * c.normal_power:.0f}%",
                    "-" if c.simulated_power is None else f"{100 * c.simulated_power:.0f}%",
                    "rows" if c.source.startswith("rates") else "assumed",
                )
                for c in seen.comparisons
            ],
            named=True,
        )
        typer.echo("smallest: difference in points of pass@1 seen with power 80%; power: for the difference `at`,")
        typer.echo("of the z test and, simulated, of the sign-flip test that `passhat compare` uses.")
    best = min(seen.splits, key=lambda s: s.se, default=None)
    if best is not None:
        typer.echo(
            f"the same trials per arm err least (SE {100 * best.se:.1f} points of pass@1) with {best.tasks} tasks"
            f" x {best.repeats} repeats; planned are {seen.tasks} x {seen.repeats * seen.waves}"
        )
    if seen.waves > 1:
        typer.echo("waves are due: " + ", ".join(seen.due[:10]) + (" ..." if len(seen.due) > 10 else ""))
    horizon = "not registered" if seen.horizon is None else f"{seen.horizon} looks"
    typer.echo(f"horizon: {horizon}")
    raise typer.Exit(1 if seen.misfits else 0)
