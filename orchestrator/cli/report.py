"""`passhat report`: one HTML file with every chart and table."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    results: Annotated[list[str] | None, typer.Argument(help="Results folders or URIs.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    select: Annotated[list[str] | None, typer.Option("--select", help='Only these rows, e.g. "agent=a".')] = None,
    rule: Annotated[str, typer.Option(help="Scoring rule: default, strict or agent_only.")] = "default",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every resampling.")] = 0,
    baseline: Annotated[
        str | None, typer.Option(help="Resource setting the others are compared with; default the one with the least.")
    ] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Waves after the first that were planned, recorded before; for drift.")
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "passhat report",
    theme: Annotated[Path | None, typer.Option(help="A Vega configuration (JSON) laid over the built-in one.")] = None,
    transcripts: Annotated[int, typer.Option(min=0, help="Tasks whose attempts and transcripts get pages.")] = 40,
    static: Annotated[
        bool, typer.Option("--static/--no-static", help="Embed still pictures for readers without scripts.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a self-contained report that opens offline; pages of attempts stand in a folder beside it.

    Example: passhat report results -o report.html
    """
    import json

    from orchestrator.analysis.attempts import read_attempts, screens_reader, transcript_reader
    from orchestrator.analysis.context import Settings
    from orchestrator.analysis.saving import save
    from orchestrator.analysis.summary import aggregate
    from orchestrator.cli.printing import scoring_rule
    from orchestrator.report.evidence import Kept, evidence_pages
    from orchestrator.report.page import Look, page, read_theme
    from orchestrator.report.vega import warm_up

    roots = results or ["results"]
    settings = Settings(rule=scoring_rule(rule), seed=seed, baseline=baseline, horizon=horizon)
    warm_up()
    summary = aggregate(roots, settings, selection=select or ())
    save(summary, roots[0])
    look = Look(title, read_theme(theme) if theme else None, static)
    folder = output.parent / f"{output.stem}_files"
    links = []
    if transcripts:
        attempts = read_attempts(roots, summary, tasks=transcripts)
        kept = Kept(transcript_reader(roots), screens_reader(roots))
        for link, pages in evidence_pages(attempts, kept, folder.name, output.name):
            folder.mkdir(parents=True, exist_ok=True)
            for one in pages:
                (folder / one.name).write_text(one.text, encoding="utf-8")
            links.append(link)
    text = page(summary, links, look)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    size = len(text.encode())
    if as_json:
        typer.echo(
            json.dumps(
                {"report": str(output), "bytes": size, "tasks": len(links), "summary": summary.provenance.summary_id}
            )
        )
    else:
        typer.echo(f"{output}: {size / 1e6:.1f} MB, {len(links)} tasks with pages of attempts in {folder}.")
