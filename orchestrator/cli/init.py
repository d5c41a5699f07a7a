"""`passhat init` and `passhat schema`: a commented sweep file to start from, and its JSON Schema for editors."""

from pathlib import Path
from typing import Annotated

import typer

TEMPLATE = """# One sweep: suite x agents x resources x lanes x repeats x waves.
# `passhat plan` says what this will do, `passhat run` does it; running it again goes on where it stopped.

name = "my-sweep"
suite = "suites/pybugs"          # or { path = "...", include = ["a*"], exclude = [], tags = [] }
repeats = 5                      # trials of the same task, arm and wave
seed = 1                         # of the random order; recorded
results = "results"              # a folder, or s3://bucket/path
# timeout_multiplier = 1.0       # of every task's timeouts
# concurrency = 8                # trials at once at most
# order = "blocked"              # or "longest_first" within a block
# gate = "gate.toml"             # checked by `passhat gate`

[[agents]]
name = "oracle"                  # runs each task's own solution: every failure is the infrastructure's
kind = "oracle"

# [[agents]]
# name = "claude"
# kind = "claude"                # needs ANTHROPIC_API_KEY
# model = "claude-sonnet-4-5"

# [[agents]]
# name = "my-tool"
# kind = "command"               # any command line, run inside the container
# argv = ["my-tool", "--solve", "{instruction}"]

[[resources]]
name = "1x"                      # the limit is the promise, on exclusive cores
headroom = 1.0
pinned = true

[[resources]]
name = "3x"                      # three times the promise before the kernel kills
headroom = 3.0                   # or "uncapped"

[retry]                          # infrastructure failures only, never an agent's
max = 2
backoff_s = 1.0

# [budget]
# usd = 50.0
# trials = 1000
# hours = 8.0

# [schedule]                     # the same sweep again, on more days
# waves = 5
# every = "1d"
# at = ["03:00"]
# timezone = "UTC"
# missed = "run"                 # or "skip"
"""


def command(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("sweep.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a commented sweep file.

    Example: passhat init sweep.toml
    """
    if path.exists() and not force:
        typer.echo(f"{path} is there already; give another name, or --force to replace it", err=True)
        raise typer.Exit(2)
    path.write_text(TEMPLATE, encoding="utf-8")
    typer.echo(f"wrote {path}; `passhat plan {path}` says what it will do")


def schema_command() -> None:
    """Print the JSON Schema of sweep files, for editors.

    Example: passhat schema > sweep.schema.json
    """
    import json

    from orchestrator.config import sweep_schema

    typer.echo(json.dumps(sweep_schema(), indent=1))
