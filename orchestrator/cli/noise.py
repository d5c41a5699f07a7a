"""`passhat noise`: how much the machine changes scores here, measured with the agent that knows the answers."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    suite: Annotated[Path, typer.Argument(help="A suite folder.")],
    headroom: Annotated[str, typer.Option(help="Settings, by comma: numbers or uncapped.")] = "1,3,uncapped",
    days: Annotated[int, typer.Option(min=1, help="Waves, a day apart.")] = 1,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats per wave.")] = 3,
    results: Annotated[str, typer.Option(help="Results root.")] = "results/noise",
    sweep: Annotated[Path | None, typer.Option(help="Take the agents of this sweep file too.")] = None,
    include: Annotated[list[str] | None, typer.Option(help="Only tasks that match this pattern.")] = None,
    margin: Annotated[float, typer.Option(min=0.001, max=0.5, help="Points/100 that count as neutral.")] = 0.02,
    pinned: Annotated[bool, typer.Option("--pinned", help="On exclusive cores.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the oracle under each resource setting; every failure is the infrastructure's. Say which band is neutral,
    and how far two scores may lie apart here before it means anything.

    Example: passhat noise suites/noise --headroom 1,3,uncapped --repeats 3
    """
    import json
    import sys
    from dataclasses import asdict

    from orchestrator.analysis.noise import noise_findings
    from orchestrator.cli.display import PlainDisplay, choose_display
    from orchestrator.cli.tables import interval, print_table, share
    from orchestrator.execution.noise_study import Study, run_study

    study = Study(suite, tuple(headroom.split(",")), days, repeats, results, sweep, tuple(include or ()), pinned)
    code = run_study(study, (lambda: PlainDisplay(sys.stderr)) if as_json else lambda: choose_display(False))
    found = noise_findings(results, margin)
    if as_json:
        typer.echo(json.dumps(asdict(found)))
        raise typer.Exit(code)
    print_table(
        ("setting", "trials", "oracle fails", "95% interval", "OOM", "other"),
        [
            (s.name, str(s.trials), share(s.failure_rate), interval(s.low, s.high), str(s.oom), str(s.other))
            for s in found.settings
        ],
        title="Failures of the reference solution: the machine's doing",
    )
    for sentence in found.sentences:
        typer.echo(sentence)
    raise typer.Exit(code)
