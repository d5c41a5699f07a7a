"""`passhat suite`: check, lint, new and import task folders."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Check, lint, make and import suites.", no_args_is_help=True)


@app.command("check")
def check(
    suite: Annotated[Path, typer.Argument(help="A suite folder or a task folder.")],
    repeats: Annotated[int, typer.Option(min=1, help="Times each agent runs each task.")] = 1,
    include: Annotated[list[str] | None, typer.Option(help="Only tasks that match this pattern.")] = None,
    results: Annotated[str | None, typer.Option(help="Keep the rows in this folder.")] = None,
    headroom: Annotated[
        str | None, typer.Option(help="Limit over promise, a number or uncapped; else what suite.toml says, or 1.")
    ] = None,
    pinned: Annotated[bool, typer.Option("--pinned", help="On exclusive cores.")] = False,
    address: Annotated[str | None, typer.Option(help="Ray cluster to join; none: this machine.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the oracle (must pass every time) and nop (must never pass) on every task; name each that breaks a rule.

    Example: passhat suite check suites/pybugs --repeats 3
    """
    import json
    import tempfile
    from contextlib import ExitStack
    from dataclasses import asdict

    from orchestrator.cli.display import PlainDisplay, choose_display
    from orchestrator.execution.checking import CheckRequest, check_suite

    with ExitStack() as held:
        folder = results or held.enter_context(tempfile.TemporaryDirectory(prefix="passhat-check-"))
        request = CheckRequest(suite, folder, repeats, tuple(include or ()), headroom, pinned, address)
        import sys

        checks = check_suite(request, (lambda: PlainDisplay(sys.stderr)) if as_json else lambda: choose_display(False))
    broken = [found for found in checks if found.broken]
    if as_json:
        typer.echo(json.dumps([asdict(found) for found in checks]))
    else:
        for found in broken:
            for reason in found.broken:
                typer.echo(f"BROKEN {found.task}: {reason}")
        typer.echo(f"{len(checks) - len(broken)} of {len(checks)} tasks hold: the oracle passed, doing nothing did not")
    raise typer.Exit(1 if broken else 0)


@app.command("lint")
def lint(
    suite: Annotated[Path, typer.Argument(help="A suite folder or a task folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find what makes graders wrong: visible answers, network or clocks while grading, unpinned installs, loose tags.

    Example: passhat suite lint suites/pybugs
    """
    import json
    from dataclasses import asdict

    from suites.lint import lint_suite
    from suites.loading import load_suite

    loaded = load_suite(suite)
    findings = lint_suite(loaded)
    if as_json:
        typer.echo(json.dumps([asdict(found) for found in findings]))
    else:
        for found in findings:
            typer.echo(f"{found.task}: {found.file}: {found.message} [{found.rule}]")
        typer.echo(f"{len(findings)} things to look at in {len(loaded.tasks)} tasks")
    raise typer.Exit(1 if findings else 0)


@app.command("new")
def new(folder: Annotated[Path, typer.Argument(help="The task folder to make.")]) -> None:
    """Make a task skeleton: task.toml, instruction, environment, hidden tests, solution.

    Example: passhat suite new my-suite/first-task
    """
    from suites.new import new_task

    for path in new_task(folder):
        typer.echo(f"wrote {path}")
    typer.echo(f"edit them, then: passhat suite lint {folder} && passhat suite check {folder}")


@app.command("import")
def import_(
    rows: Annotated[Path, typer.Argument(help="JSONL or Parquet: SWE-bench-like rows, or questions with answers.")],
    target: Annotated[Path, typer.Argument(help="The suite folder to write task folders into.")],
    files: Annotated[Path | None, typer.Option(help="Folder of repository archives, or of attachments.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Turn rows of other benchmarks into task folders; a row that cannot be is refused with its reason.

    Example: passhat suite import questions.jsonl suites/questions
    """
    import json

    from orchestrator.storage.plain_rows import read_rows
    from suites.importing import import_questions, import_repo_rows

    found = read_rows(rows)
    repos = any("base_commit" in row or "FAIL_TO_PASS" in row for row in found)
    report = import_repo_rows(found, target, files) if repos else import_questions(found, target, files)
    if as_json:
        typer.echo(json.dumps({"written": [str(p) for p in report.written], "refused": report.refused}))
    else:
        for name, reason in report.refused:
            typer.echo(f"refused {name}: {reason}")
        typer.echo(f"{len(report.written)} task folders in {target}, {len(report.refused)} rows refused")
    raise typer.Exit(1 if report.refused else 0)
