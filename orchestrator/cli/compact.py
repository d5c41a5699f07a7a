"""`passhat compact`: fewer, larger Parquet files."""

from typing import Annotated

import typer


def command(
    results: Annotated[str, typer.Argument(help="A results root.")] = "results",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Join the small Parquet files of each partition; readers see every row once before, during and after.

    Example: passhat compact results
    """
    import json

    from orchestrator.storage.compaction import compact

    before, after = compact(results)
    if as_json:
        typer.echo(json.dumps({"files_before": before, "files_after": after}))
    else:
        typer.echo(f"{before} files became {after}")
