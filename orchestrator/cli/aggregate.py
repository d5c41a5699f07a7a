"""`passhat aggregate`: rows of results folders to summary tables with intervals."""

from typing import Annotated

import typer


def command(
    results: Annotated[
        list[str] | None, typer.Argument(help="Results folders or URIs; several are taken together.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option("--select", help='Only these rows, e.g. "agent=a day=2026-01-01".')
    ] = None,
    rule: Annotated[str, typer.Option(help="Scoring rule: default, strict or agent_only.")] = "default",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every resampling.")] = 0,
    replicates: Annotated[int, typer.Option(min=100, help="Bootstrap replicates.")] = 10_000,
    k_max: Annotated[int, typer.Option("--k-max", min=1, help="Largest k of the curves.")] = 10,
    baseline: Annotated[
        str | None, typer.Option(help="Resource setting the others are compared with; default the one with the least.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Waves after the first that were planned, recorded before; for drift.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="Results folder to write summary/<id>/ to; default the first one.")
    ] = None,
    ray: Annotated[str | None, typer.Option(help="Read on this Ray cluster (auto, host:port); none: here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all tables as JSON.")] = False,
) -> None:
    """Check the rows, reduce them to cells, and write tables with intervals as Parquet and JSON.

    Exits with 1 where a number could not be given. Example: passhat aggregate results
    """
    import json
    from dataclasses import asdict

    from orchestrator.analysis.context import Settings
    from orchestrator.analysis.plain import tables
    from orchestrator.analysis.saving import save
    from orchestrator.analysis.summary import aggregate
    from orchestrator.cli.printing import print_alarms, print_arms, print_findings, scoring_rule

    roots = results or ["results"]
    settings = Settings(
        rule=scoring_rule(rule), seed=seed, replicates=replicates, k_max=k_max, baseline=baseline, horizon=horizon
    )
    mapper = None
    if ray is not None:
        from orchestrator.execution.partitions import map_partitions

        mapper = map_partitions(ray)
    summary = aggregate(roots, settings, selection=select or (), map_partitions=mapper)
    folder = save(summary, output or roots[0])
    missing = [row for row in summary.arms if row.quoted and None in (row.number.estimate, row.number.low)]
    broken = any(found.spoils for found in summary.integrity)
    if as_json:
        typer.echo(
            json.dumps({"provenance": asdict(summary.provenance), "folder": folder, **tables(summary)}, indent=1)
        )
    else:
        print_arms(summary)
        print_alarms(summary)
        print_findings(summary.integrity)
        typer.echo(f"Written to {output or roots[0]}/{folder}.")
        for row in missing:
            what = "cannot be given" if row.number.estimate is None else "has no interval"
            why = row.number.reason or row.number.interval_reason or "there is too little to tell"
            typer.echo(f"{row.arm.label}: {row.estimand.statistic} {what}: {why.rstrip('.')}.", err=True)
    raise typer.Exit(1 if missing or broken else 0)
