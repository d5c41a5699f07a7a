"""`passhat summary`: the arms of a results folder in one short table."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.analysis.quick import QuickRow


def command(
    results: Annotated[str, typer.Argument(help="A results folder or URI.")] = "results",
    sweep: Annotated[str | None, typer.Option(help="Only this sweep, by id.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """One line for each arm: pass@1, pass@3, pass^3, failures of the machinery, time and cost.

    Exits with 1 where an arm has no trial with a verdict. Example: passhat summary results
    """
    import json
    from dataclasses import asdict

    from orchestrator.analysis.quick import quick_summary
    from orchestrator.cli.printing import print_findings

    rows, findings = quick_summary(results, sweep)
    missing = [row for row in rows if row.pass_at_1 is None]
    wrong = missing or any(found.spoils for found in findings)
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=1))
        raise typer.Exit(1 if wrong else 0)
    suites = list(dict.fromkeys(row.suite for row in rows))
    for suite in suites:
        _print_arms([row for row in rows if row.suite == suite], suite if len(suites) > 1 else "")
    typer.echo(
        "trials: with a verdict (scoring rule default). infra: failed attempts of the machinery. s: median seconds."
    )
    for row in rows:
        name = row.label if len(suites) == 1 else f"{row.suite}: {row.label}"
        if row.without_verdict or row.suspect:
            typer.echo(
                f"{name}: {row.without_verdict} trial{'s' * (row.without_verdict != 1)} without a verdict, {row.suspect} kept out as suspect."
            )
        if row.reason is not None:
            typer.echo(f"{name}: {row.reason}.")
    print_findings(findings)
    raise typer.Exit(1 if wrong else 0)


def _print_arms(rows: "list[QuickRow]", suite: str) -> None:
    from orchestrator.cli.tables import print_table, share

    print_table(
        ("arm", "tasks", "trials", "pass@1", "pass@3", "pass^3", "infra", "OOM", "s", "USD"),
        [
            (
                row.label,
                str(row.tasks),
                str(row.trials),
                share(row.pass_at_1),
                share(row.pass_at_3),
                share(row.pass_hat_3),
                str(row.infrastructure_failures),
                str(row.oom_kills),
                "-" if row.median_s is None else f"{row.median_s:.3g}",
                "-" if row.cost_usd is None else f"{row.cost_usd:.2f}",
            )
            for row in rows
        ],
        title=f"suite {suite}" if suite else "",
        named=True,
    )
