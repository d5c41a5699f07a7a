"""`passhat gate`: whether results hold a declared policy."""

from pathlib import Path
from typing import Annotated

import typer


def command(
    policy: Annotated[Path, typer.Argument(help="The policy, a TOML file.")],
    results: Annotated[list[str] | None, typer.Argument(help="Results folders or URIs.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write a Markdown table here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Exit with 0 where every check of the policy holds, with 1 where one fails or cannot be decided.

    Example: passhat gate gate.toml results --junit gate.xml --markdown gate.md
    """
    import json
    from dataclasses import asdict

    from orchestrator.analysis.gate import judge, read_policy
    from orchestrator.report.gate import junit as as_junit
    from orchestrator.report.gate import markdown as as_markdown

    verdict = judge(read_policy(policy), results or ["results"])
    if junit is not None:
        junit.write_text(as_junit(verdict), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(as_markdown(verdict), encoding="utf-8")
    if as_json:
        checks = [asdict(check) for check in verdict.checks]
        typer.echo(json.dumps({"holds": verdict.holds, "verdict": verdict.paragraph(), "checks": checks}, indent=1))
    else:
        typer.echo(verdict.paragraph())
    raise typer.Exit(0 if verdict.holds else 1)
