"""`passhat compare`: two arms, settings, days or lanes, paired by task."""

from typing import Annotated

import typer


def command(
    first: Annotated[
        str, typer.Argument(help='One side, e.g. "agent=a resources=1x", day=2026-01-01, wave=0..2, lane=frozen.')
    ],
    second: Annotated[str, typer.Argument(help="The other side; differences are second less first.")],
    results: Annotated[
        list[str] | None, typer.Option("--results", help="Results folder or URI; may be repeated.")
    ] = None,
    k: Annotated[list[int] | None, typer.Option("-k", min=1, help="Compare pass@k and pass^k at this k too.")] = None,
    rule: Annotated[str, typer.Option(help="Scoring rule: default, strict or agent_only.")] = "default",
    margin: Annotated[float, typer.Option(min=0.0001, max=1, help="Margin of equivalence, in score.")] = 0.02,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every test.")] = 0,
    anyway: Annotated[bool, typer.Option("--anyway", help="Compare sides that do not match, marked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Differences with intervals and tests on the tasks that both sides have.

    Exits with 1 where a number or its interval could not be given.
    Sides whose tasks, snapshots, graders, judges or retry policies differ are refused unless --anyway.

    Example: passhat compare "agent=a resources=1x" "agent=a resources=3x" --results results
    """
    import json

    from orchestrator.analysis.comparing import compare
    from orchestrator.analysis.context import Settings
    from orchestrator.analysis.plain import flat
    from orchestrator.cli.printing import print_comparison, scoring_rule

    settings = Settings(rule=scoring_rule(rule), seed=seed, margin=margin)
    rows = compare(results or ["results"], first, second, settings, ks=tuple(k or ()), anyway=anyway)
    if as_json:
        typer.echo(json.dumps([flat(row) for row in rows], indent=1))
    else:
        print_comparison(rows)
    alone = rows[0].estimand.tasks < 2
    if alone:
        typer.echo("An interval needs 2 shared tasks, and there is 1: only the estimate can be had.", err=True)
    silent = [row for row in rows if row.number.low is None and row.number.interval_reason]
    if silent and not alone:
        names = ", ".join(row.statistic for row in silent)
        typer.echo(f"{names}: no interval, {silent[0].number.interval_reason}.", err=True)
    without = any(None in (row.number.estimate, row.number.low) for row in rows)
    raise typer.Exit(1 if alone or without else 0)
