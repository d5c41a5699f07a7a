"""The report: figures, tables and findings as one HTML file that needs nothing else to be read."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path

import vl_convert
from altair.utils.schemapi import debug_mode
from jinja2 import Environment, PackageLoader, StrictUndefined

from orchestrator.analysis.by_suite import of_suite, suites_of
from orchestrator.analysis.tables import Summary
from orchestrator.report import arms, comparisons, conditions, effects, repeats
from orchestrator.report.evidence import TaskLink
from orchestrator.report.figures import Figure, percent, span
from orchestrator.report.vega import bundle, warm_up

FIGURES = (
    arms.scores,
    arms.curves,
    arms.tasks,
    repeats.runs,
    repeats.variance,
    conditions.resources,
    effects.resource_effects,
    comparisons.differences,
    effects.ranks,
    comparisons.costs,
    conditions.days,
    effects.drift,
    conditions.judges,
    effects.judge_effects,
)
_STATIC_AT_MOST_BYTES = 250_000


class ThemeError(ValueError):
    """A theme cannot be used; the message is what a person reads."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the report looks: a title and a Vega configuration laid over the built-in one."""

    title: str = "passhat report"
    theme: Mapping[str, object] | None = None
    static: bool = True


@dataclass(frozen=True, slots=True)
class Part:
    """The report of one suite: its cards and its figures; `suite` is empty where there is only one."""

    suite: str
    headline: list[tuple[str, str, str, str]]
    figures: list[Figure]


def figures(summary: Summary) -> list[Figure]:
    """All figures of a summary of one suite, in order."""
    return [make(summary) for make in FIGURES]


def page(summary: Summary, links: Sequence[TaskLink] = (), look: Look | None = None) -> str:
    """The whole HTML file. Everything a suite or an agent named is escaped."""
    chosen = look or Look()
    warm_up()
    parts, pictures = _drawn(summary, chosen.static)
    environment = Environment(
        loader=PackageLoader("orchestrator.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    specs = {figure.key: figure.spec for part in parts for figure in part.figures if figure.spec is not None}
    return environment.get_template("page.html.j2").render(
        title=chosen.title,
        summary=summary,
        provenance=asdict(summary.provenance),
        parts=parts,
        static=pictures,
        links=links,
        style=_own("page.css"),
        script=_own("page.js"),
        bundle=bundle(),
        specs=embedded_json(specs),
        theme=embedded_json(chosen.theme or {}),
    )


def headline(summary: Summary) -> list[tuple[str, str, str, str]]:
    """(arm, pass@1 with interval, pass^k with interval, its name) of the first arms."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for row in summary.arms:
        if row.quoted and row.estimand.statistic.startswith("pass"):
            text = f"{percent(row.number.estimate)} ({span(row.number.low, row.number.high)})"
            rows.setdefault(row.arm.label, []).append((row.estimand.statistic, text))
    found = []
    for label in arms.leading(summary, 6):
        told = dict(rows.get(label, []))
        last = next((name for name in reversed(list(told)) if name.startswith("pass^")), "")
        found.append((label, told.get("pass@1", "–"), told.get(last, "–"), last or "pass^k"))
    return found


def embedded_json(value: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")


def static_svg(figure: Figure) -> str:
    """The chart as a picture for readers without JavaScript; nothing where it would be too large."""
    if figure.spec is None or len(json.dumps(figure.spec)) > _STATIC_AT_MOST_BYTES // 2:
        return ""
    spec = _fixed_width(figure.spec)
    svg: str = vl_convert.vegalite_to_svg(spec, config={"background": "white"})
    return svg if len(svg) <= _STATIC_AT_MOST_BYTES else ""


def _fixed_width(spec: Mapping[str, object]) -> dict[str, object]:
    return {key: 640 if key == "width" and value == "container" else value for key, value in spec.items()}


def _drawn(summary: Summary, static: bool) -> tuple[list[Part], dict[str, str]]:
    """All figures by suite, and their pictures; one figure is painted while the next one is being made."""
    parts: list[Part] = []
    painted: dict[str, Future[str]] = {}
    # Altair checks each of a chart's hundred parts against its schema, which takes a second; our tests let it.
    with debug_mode(False), ThreadPoolExecutor(1) as painter:
        for number, (suite, own) in enumerate(_by_suite(summary), start=1):
            parts.append(Part(suite, headline(own), []))
            for make in FIGURES:
                figure = make(own)
                figure = replace(figure, key=f"{figure.key}-{number}") if suite else figure
                parts[-1].figures.append(figure)
                if static:
                    painted[figure.key] = painter.submit(static_svg, figure)
    return parts, {key: picture.result() for key, picture in painted.items()}


def _by_suite(summary: Summary) -> list[tuple[str, Summary]]:
    """Each suite's part of a summary: what is compared is compared within a suite."""
    if len(suites_of(summary)) < 2:
        return [("", summary)]
    return [(suite, of_suite(summary, suite)) for suite in suites_of(summary)]


def _own(name: str) -> str:
    return files("orchestrator.report").joinpath(name).read_text(encoding="utf-8")


def read_theme(path: Path) -> Mapping[str, object]:
    """A Vega configuration from a JSON file. Raises ThemeError in one sentence."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ThemeError(f"{path} was asked for as a theme, but cannot be read as JSON ({error}).") from None
    if not isinstance(found, dict):
        raise ThemeError(f"{path} was asked for as a theme, but is no JSON object: write a Vega configuration.")
    return found
