"""passhat from Python: load results, aggregate, compare and plot, with typed results.

>>> # summary = aggregate("results"); frame(summary, "arms", "polars"); plot(summary, "curves")
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from orchestrator.analysis import comparing
from orchestrator.analysis import summary as summaries
from orchestrator.analysis.by_suite import of_suite, suites_of
from orchestrator.analysis.context import Settings
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.saving import arrow_table
from orchestrator.analysis.summary import Loaded
from orchestrator.analysis.tables import TABLES, ComparisonRow, Summary
from orchestrator.report.page import Look, figures, page

__all__ = [
    "Loaded",
    "RowsError",
    "Settings",
    "Summary",
    "aggregate",
    "compare",
    "frame",
    "load",
    "plot",
    "write_report",
]

Kind = Literal["pyarrow", "pandas", "polars", "rows"]


def load(results: str | Path | Sequence[str]) -> Loaded:
    """Check and reduce results folders or URIs to cells, to aggregate and compare several times."""
    return summaries.load_cells(_roots(results))


def aggregate(
    results: str | Path | Sequence[str] | Loaded, settings: Settings | None = None, *, selection: str = ""
) -> Summary:
    """The summary of results: every number with its interval and its estimand. Raises RowsError in one sentence."""
    if isinstance(results, Loaded):
        return summaries.summarise(results, settings or Settings())
    return summaries.aggregate(_roots(results), settings, selection=selection)


def compare(
    results: str | Path | Sequence[str] | Loaded,
    first: str,
    second: str,
    settings: Settings | None = None,
    *,
    ks: Sequence[int] = (),
    anyway: bool = False,
) -> list[ComparisonRow]:
    """Differences of two selections, second less first, paired by task, one row for each statistic."""
    loaded = results if isinstance(results, Loaded) else load(results)
    return comparing.compare_loaded(loaded, first, second, settings or Settings(), ks=ks, anyway=anyway)


def frame(summary: Summary, table: str, kind: Kind = "pyarrow") -> Any:
    """One table of a summary as a data frame of the library asked for, which must be installed (none is required).

    kind "rows": plain dictionaries. Raises ValueError for a table or a kind that does not exist, with those that do,
    and ImportError for a library that is not installed.
    """
    if table not in TABLES:
        raise ValueError(f"There is no table {table!r}; there are {', '.join(TABLES)}.")
    if kind not in get_args(Kind):
        raise ValueError(f"There is no data frame of the kind {kind!r}; there are {', '.join(get_args(Kind))}.")
    found = arrow_table(summary, table)
    if kind not in ("pandas", "polars"):
        return found.to_pylist() if kind == "rows" else found
    try:
        library = import_module(kind)
    except ImportError:
        raise ImportError(
            f"A data frame of {kind} was asked for, but {kind} is not installed: install it, or ask for 'pyarrow' or 'rows'."
        ) from None
    return found.to_pandas() if kind == "pandas" else library.from_arrow(found)


def plot(summary: Summary, figure: str, *, suite: str | None = None) -> Mapping[str, object]:
    """A figure as a Vega-Lite specification, e.g. for altair.Chart.from_dict. Raises ValueError where there is none.

    suite: whose figure, where the summary holds several suites.
    """
    names = ", ".join(suites_of(summary))
    if suite is not None and suite not in suites_of(summary):
        raise ValueError(f"There is no suite {suite!r}; there are {names}.")
    if suite is None and len(suites_of(summary)) > 1:
        raise ValueError(f"A figure is of one suite, and the summary holds {names}: name one with suite=.")
    drawn = {item.key: item for item in figures(of_suite(summary, suite) if suite else summary)}
    if figure not in drawn:
        raise ValueError(f"There is no figure {figure!r}; there are {', '.join(drawn)}.")
    spec = drawn[figure].spec
    if spec is None:
        raise ValueError(f"{drawn[figure].title} cannot be drawn: {drawn[figure].note}")
    return spec


def write_report(summary: Summary, path: str | Path, *, title: str = "passhat report") -> None:
    """The report as one HTML file."""
    Path(path).write_text(page(summary, (), Look(title)), encoding="utf-8")


def _roots(results: str | Path | Sequence[str]) -> list[str]:
    return [str(results)] if isinstance(results, str | Path) else [str(root) for root in results]
