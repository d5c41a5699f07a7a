"""`passhat transcript` and `passhat grep`: what agents did, one attempt at a time or all of them at once."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator.models.transcript import Event

Results = Annotated[str, typer.Option(help="A results root.")]


def command(
    attempt: Annotated[str, typer.Argument(help="An attempt id, or a transcript file.")],
    results: Results = "results",
    as_json: Annotated[bool, typer.Option("--json", help="Print the events as JSON lines.")] = False,
    atif: Annotated[bool, typer.Option("--atif", help="Print the trajectory in ATIF.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten long texts.")] = False,
) -> None:
    """Show the transcript of an attempt. Example: passhat transcript 3f9a0c2b17d4e5f60718-0"""
    import json
    from dataclasses import asdict

    from orchestrator.models.atif import to_atif
    from orchestrator.models.transcript import render

    row, events = _load(attempt, results)
    if atif:
        agent, version = str(row.get("agent") or "unknown"), str(row.get("agent_version") or "unknown")
        model = row.get("model")
        document = to_atif(events, attempt, agent, version, str(model) if model else None)
        typer.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    if as_json:
        for event in events:
            typer.echo(json.dumps(asdict(event), ensure_ascii=False))
        return
    if row:
        typer.echo(
            f"{row.get('task')}  {row.get('arm')}  {row.get('status')}  {row.get('failure_message') or ''}".rstrip()
        )
    for line in render(events, 10**9 if full else 2000):
        typer.echo(line)


def grep_command(
    pattern: Annotated[
        str | None, typer.Argument(help="A regular expression; without one, the ready patterns.")
    ] = None,
    results: Results = "results",
    sweep: Annotated[str | None, typer.Option(help="Only this sweep, by id.")] = None,
    ready: Annotated[list[str] | None, typer.Option("--ready", help="Only these ready patterns.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
) -> None:
    """Find patterns over all transcripts. Exits with 1 where nothing is found. Example: passhat grep --ready read-tests"""
    import json
    from dataclasses import asdict

    from orchestrator.models.patterns import READY, find, own_pattern

    unknown = sorted(set(ready or ()) - set(READY))
    if unknown:
        typer.echo(f"{unknown[0]} is no ready pattern; there are {', '.join(READY)}", err=True)
        raise typer.Exit(2)
    wanted = [own_pattern(pattern)] if pattern is not None else [READY[name] for name in ready or READY]
    hits = 0
    for attempt, events in _all(results, sweep):
        for hit in find(wanted, events):
            hits += 1
            if as_json:
                typer.echo(json.dumps({"attempt_id": attempt, **asdict(hit)}, ensure_ascii=False))
            else:
                typer.echo(f"{attempt}:{hit.line}: {hit.pattern} ({hit.place}): {hit.text}")
    if not hits:
        typer.echo("nothing found", err=True)
        raise typer.Exit(1)


def _load(attempt: str, results: str) -> "tuple[dict[str, object], list[Event]]":
    from orchestrator.models.transcript import read_transcript
    from orchestrator.storage.finding import find_rows
    from orchestrator.storage.root import Root

    path = Path(attempt)
    if path.is_file():
        return {}, read_transcript(path.read_bytes(), path.name)
    rows = [row for row in find_rows(results, attempt) if row["attempt_id"] == attempt]
    if not rows:
        typer.echo(f"{results} has no attempt {attempt!r}; `passhat show TASK` lists attempts", err=True)
        raise typer.Exit(1)
    uri = rows[0].get("transcript_uri")
    if not uri:
        typer.echo(f"attempt {attempt} kept no transcript (status {rows[0].get('status')})", err=True)
        raise typer.Exit(1)
    return rows[0], read_transcript(Root(results).read(str(uri)), str(uri))


def _all(results: str, sweep: str | None) -> "Iterator[tuple[str, list[Event]]]":
    from orchestrator.models.transcript import TranscriptError, read_transcript
    from orchestrator.storage.root import Root

    root = Root(results)
    folder = f"transcripts/{sweep}" if sweep else "transcripts"
    for name, _ in sorted(root.list_files(folder, ".zst")):
        attempt = name.rsplit("/", 1)[-1].split(".")[0]
        if ".tar" in name:
            continue
        try:
            yield attempt, read_transcript(root.read(name), name)
        except TranscriptError as error:
            typer.echo(str(error), err=True)
