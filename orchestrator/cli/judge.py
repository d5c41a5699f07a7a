"""`passhat judge`: grade stored transcripts with a model, and check the judge against tests or people."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.models.calibration import Calibration, Repeatability
    from orchestrator.models.judgements import Grade
    from orchestrator.models.judging import Scale
    from orchestrator.storage.root import Root

app = typer.Typer(no_args_is_help=True, help="Grade stored attempts with a model, and calibrate that judge.")

Results = Annotated[str, typer.Argument(help="A results root.")]
Rubric = Annotated[Path, typer.Option(help="A text file with the rubric.")]
Model = Annotated[str, typer.Option(help="The judge's model.")]
Version = Annotated[str, typer.Option("--rubric-version", help="The rubric's version.")]
Points = Annotated[str | None, typer.Option(help="A scale low-high:passing, e.g. 1-5:4; without one: pass or fail.")]
Sweep = Annotated[str | None, typer.Option(help="Only this sweep, by id.")]


@app.command("run")
def run_command(
    results: Results,
    rubric: Rubric,
    model: Model,
    rubric_version: Version = "1",
    points: Points = None,
    sweep: Sweep = None,
    times: Annotated[int, typer.Option(min=1, help="Grades per attempt; 2 or more show the judge's own noise.")] = 1,
    upstream: Annotated[str | None, typer.Option(help="The API; without it, the real one.")] = None,
    budget_usd: Annotated[float | None, typer.Option(help="Stop before more than this is spent.")] = None,
) -> None:
    """Grade every attempt that has a verdict and a transcript; what is graded already stays as it is.

    Example: passhat judge run results --rubric quality.md --model claude-haiku-4-5 --times 2
    """
    from orchestrator.models.judging import JudgeSettings, judge_version
    from orchestrator.storage.root import Root

    scale, settings, text = parse_points(points), JudgeSettings(model), rubric.read_text(encoding="utf-8")
    version = judge_version(settings, text, rubric_version, scale)
    root = Root(results)
    done = {(grade.attempt_id, grade.n) for grade in _grades(root, version)}
    rows = [row for row in _rows(root, sweep) if row["transcript_uri"]]
    wanted = [(row, n) for n in range(times) for row in rows if (row["attempt_id"], n) not in done]
    typer.echo(f"judge {version}: {len(wanted)} grades to give, {len(done)} there already")
    if wanted:
        _grade(root, wanted, settings, text, rubric_version, scale, upstream, budget_usd)


@app.command("list")
def list_command(results: Results) -> None:
    """The judges whose grades are stored. Example: passhat judge list results"""
    from orchestrator.storage.root import Root

    found: dict[str, list[Grade]] = {}
    for grade in _grades(Root(results), None):
        found.setdefault(grade.judge_version, []).append(grade)
    if not found:
        typer.echo(f"{results} holds no grades of stored transcripts; `passhat judge run` gives them.")
    for version, grades in sorted(found.items()):
        unclear = sum(grade.passed is None for grade in grades)
        typer.echo(
            f"{version}: {len(grades)} grades of {len({g.attempt_id for g in grades})} attempts, {unclear} unclear"
        )


def parse_points(points: str | None) -> "Scale":
    """A scale as it is given on the command line."""
    import re

    from orchestrator.models.judging import JudgeSettingsError, Scale

    if points is None:
        return Scale()
    match = re.fullmatch(r"(\d+)-(\d+):(\d+)", points)
    if match is None:
        raise JudgeSettingsError(f"--points {points}: write it as low-high:passing, e.g. 1-5:4")
    low, high, passing = (int(part) for part in match.groups())
    return Scale(low, high, passing)


def _grade(
    root: "Root",
    wanted: "list[tuple[dict[str, object], int]]",
    settings: object,
    rubric: str,
    rubric_version: str,
    scale: "Scale",
    upstream: str | None,
    budget_usd: float | None,
) -> None:
    import os
    import time

    from orchestrator.models.client import Clock, Meter, ModelClient, RetryPolicy
    from orchestrator.models.failures import ModelFailureError
    from orchestrator.models.gateway import API_URL, Gateway, GatewayConfig
    from orchestrator.models.judge import grade_once
    from orchestrator.models.judgements import grade_of, material
    from orchestrator.models.judging import JudgeSettings
    from orchestrator.models.prices import builtin_prices
    from orchestrator.models.transcript import read_transcript
    from suites.judging import JudgeQuestion

    assert isinstance(settings, JudgeSettings)
    key = os.environ.get("ANTHROPIC_API_KEY") or ("scripted" if upstream else None)
    config = GatewayConfig(upstream=upstream or API_URL, sweep_budget_usd=budget_usd)
    with Gateway(config, key) as gateway:
        endpoint = gateway.register("judge")
        clock = Clock(time.monotonic, time.sleep)
        with ModelClient(endpoint, RetryPolicy(), Meter(builtin_prices(), settings.model), clock) as client:
            for row, n in wanted:
                name = str(row["transcript_uri"])
                instruction, said = material(read_transcript(root.read(name), name))
                question = JudgeQuestion(rubric, rubric_version, instruction, said, {})
                try:
                    graded = grade_once(client, settings, question, scale)
                except ModelFailureError as failure:
                    typer.echo(f"stopped: {failure}", err=True)
                    raise typer.Exit(1) from None
                grade = grade_of(str(row["attempt_id"]), n, graded)
                root.write(grade.name, grade.data(), durable=False)
            cost = client.meter.cost_usd
            typer.echo(f"graded {len(wanted)}, cost {'unknown' if cost is None else f'{cost:.4f} USD'}")


def _rows(root: "Root", sweep: str | None) -> list[dict[str, object]]:
    from orchestrator.storage.reading import scan

    columns = ["attempt_id", "task", "task_cluster", "arm", "passed", "final", "transcript_uri"]
    rows = [row for table in scan(root, columns, sweep) for row in table.to_pylist()]
    return sorted((row for row in rows if row["passed"] is not None), key=lambda row: str(row["attempt_id"]))


def _grades(root: "Root", version: str | None) -> "list[Grade]":
    from orchestrator.models.judgements import folder_of, parse_grade

    folder = "judgements" if version is None else folder_of(version)
    return [parse_grade(root.read(name)) for name, _ in root.list_files(folder, ".json")]


@app.command("check")
def check_command(
    results: Results,
    labels: Annotated[
        Path | None, typer.Option(help="A CSV with attempt_id and passed; without it, the tests.")
    ] = None,
    version: Annotated[str | None, typer.Option(help="The judge's version; needed where there are several.")] = None,
    sweep: Sweep = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Calibrate a judge per arm: agreement, kappa, sensitivity, specificity, with intervals over tasks; and, where
    attempts were graded twice (`judge run --times 2`), against itself.

    Example: passhat judge check results --labels people.csv
    """
    import json
    from dataclasses import asdict

    from orchestrator.models.calibration import Pair, calibrate, repeatability
    from orchestrator.models.judgements import JudgementError, first_grades, graded_twice, pairs, parse_labels
    from orchestrator.storage.root import Root

    root = Root(results)
    grades = [g for g in _grades(root, None) if version is None or g.judge_version == version]
    versions = sorted({grade.judge_version for grade in grades})
    if len(versions) != 1:
        there = f"several judges ({', '.join(versions)}); choose one with --version" if versions else "no grades"
        then = f"`passhat judge list {results}` shows them" if versions else "`passhat judge run` gives them"
        raise JudgementError(f"{results} has {there}; {then}")
    rows = {str(row["attempt_id"]): row for row in _rows(root, sweep)}
    known = {attempt: bool(row["passed"]) for attempt, row in rows.items()}
    if labels is not None:
        known = parse_labels(labels.read_text(encoding="utf-8"), str(labels))
    unit = {attempt: str(row["task_cluster"] or row["task"]) for attempt, row in rows.items()}
    compared = [
        Pair(str(rows[attempt]["arm"]), unit[attempt], judge, truth)
        for attempt, judge, truth in pairs(first_grades(grades), known)
        if attempt in rows
    ]
    unclear = sum(grade.passed is None for grade in grades)
    found = calibrate(compared, seed)
    itself = repeatability((unit[name], first, again) for name, first, again in graded_twice(grades) if name in unit)
    if as_json:
        told = {**asdict(found), "repeatability": None if itself is None else asdict(itself)}
        typer.echo(json.dumps({"judge": versions[0], "unclear": unclear, **told}, indent=1))
        return
    _print_check(versions[0], "tests" if labels is None else str(labels), unclear, found)
    typer.echo(_against_itself(itself))


def _print_check(version: str, against: str, unclear: int, found: "Calibration") -> None:
    from orchestrator.cli.tables import print_table, share

    typer.echo(f"judge {version} against {against}; {unclear} unclear grades left out; intervals over task clusters")
    for arm, figures in found.arms:
        count = sum(sum(row) for row in figures.table)
        lines = [("passes as judged", share(figures.judged), ""), ("passes as known", share(figures.prevalence), "")]
        for title, name in (
            ("agreement", "agreement"),
            ("Cohen's kappa", "kappa"),
            ("AC1", "ac1"),
            ("sensitivity", "sensitivity"),
            ("specificity", "specificity"),
        ):
            lines.append((title, *_interval(figures, name)))
        print_table((f"{arm} ({count} attempts)", "value", "95% interval"), lines)
    for test in found.equal:
        p = f"p = {test.p:.3g}" if test.p is not None else str(test.reason)
        typer.echo(f"{test.measure} the same on all arms: {p} ({test.trials} trials can tell)")
    gap = found.gap
    if gap is not None and gap.by_judge.difference is not None and gap.by_truth.difference is not None:
        seen, true = gap.by_judge.difference.value, gap.by_truth.difference.value
        first, second = (arm for arm, _ in found.arms)
        typer.echo(f"{second} less {first}: {share(seen)} points as the judge sees it, {share(true)} as known")


def _against_itself(found: "Repeatability | None") -> str:
    from orchestrator.cli.tables import share

    if found is None:
        return "against itself: no attempt is graded twice; `passhat judge run --times 2` shows the judge's own noise"
    noise = found.noise
    told = [f"against itself: {found.changed} of {found.attempts} grades changed when given again"]
    if noise.variance is not None:
        part = "" if noise.share is None else f", {noise.share:.0%} of the variance between trials of a task"
        told.append(f"noise of one grade: standard deviation {noise.variance**0.5:.2f}{part}")
    if noise.shift is not None and noise.shift.value is not None:
        low, high = noise.shift.low, noise.shift.high
        bounds = "" if low is None or high is None else f" ({share(low)} to {share(high)})"
        told.append(
            f"second less first: {share(noise.shift.value)} points{bounds}; what a later wave shows beside it is drift"
        )
    return "; ".join(told) if noise.reason is None else f"{told[0]}: {noise.reason}"


def _interval(figures: object, name: str) -> tuple[str, str]:
    """Value and bounds; dashes where it is undefined."""
    from orchestrator.stats.sample import Interval

    value = getattr(figures, name)
    assert isinstance(value, Interval)
    if value.value is None:
        return "-", "-"
    bounds = "-" if value.low is None or value.high is None else f"{value.low:.2f} to {value.high:.2f}"
    return f"{value.value:.2f}", bounds
