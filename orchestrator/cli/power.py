"""`passhat power`: what difference a design can see, and what it would take."""

from typing import Annotated

import typer


def command(
    first: Annotated[str | None, typer.Argument(help='Measure variances from this side, e.g. "agent=a".')] = None,
    second: Annotated[str | None, typer.Argument(help="And this side.")] = None,
    results: Annotated[
        list[str] | None, typer.Option("--results", help="Results folder or URI; may be repeated.")
    ] = None,
    difference: Annotated[float | None, typer.Option(min=0.0001, max=1, help="Difference to see, e.g. 0.03.")] = None,
    tasks: Annotated[int | None, typer.Option(min=1, help="Tasks there are.")] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Repeats of each task and arm.")] = 1,
    power: Annotated[float, typer.Option(min=0.01, max=0.999, help="Power wanted.")] = 0.8,
    alpha: Annotated[float, typer.Option(min=0.0001, max=0.5, help="Level of the two-sided test.")] = 0.05,
    omega2: Annotated[
        float | None, typer.Option(min=0, help="Assumed variance of the true difference over tasks.")
    ] = None,
    sigma2: Annotated[float | None, typer.Option(min=0, help="Assumed variance of one trial within a task.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulation.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tasks needed for a difference, or the smallest difference that tasks can show.

    Variances are measured from two sides of results, or assumed with --omega2 and --sigma2.

    Example: passhat power --omega2 0.111 --sigma2 0.1667 --difference 0.03
    """
    import json
    from dataclasses import asdict
    from math import isfinite

    from orchestrator.analysis.context import Settings
    from orchestrator.analysis.power import Question, answer, measured_noise
    from orchestrator.stats.planning import Noise

    rates = None
    if first is not None and second is not None:
        noise, rates, shared = measured_noise(results or ["results"], first, second, Settings(seed=seed))
        source = f"measured on {shared} tasks"
        tasks = tasks if tasks is not None else shared
    elif omega2 is not None and sigma2 is not None:
        noise, source = Noise(omega2, sigma2, sigma2), "assumed"
    else:
        raise typer.BadParameter("give two sides of results to measure variances from, or --omega2 and --sigma2.")
    if not all(map(isfinite, (noise.omega2, noise.sigma2_a, noise.sigma2_b))):
        raise typer.BadParameter("a variance is not a finite number: give --omega2 and --sigma2 as such.")
    if difference is None and tasks is None:
        raise typer.BadParameter(
            "give --difference to learn how many tasks it needs, or --tasks to learn what they can show."
        )
    found = answer(Question(difference, tasks, repeats, power, alpha), noise, source, rates=rates, seed=seed)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=1))
        return
    typer.echo(found.sentence)
    typer.echo(
        f"Variances ({source}): between tasks {noise.omega2:.4g}, within a trial {noise.sigma2_a:.4g} and {noise.sigma2_b:.4g}."
    )
