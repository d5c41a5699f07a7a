"""Tables for a terminal: at most 80 columns wide where nothing else is known of it."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Standard output; 80 columns where it is no terminal."""
    found = Console(highlight=False, soft_wrap=False)
    return found if found.is_terminal else Console(highlight=False, width=80)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """The first column is text and may fold; the others are right-aligned and never cut."""
    table = Table(
        box=None, padding=(0, 1), header_style="bold", title=title or None, title_justify="left", pad_edge=False
    )
    for number, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if not number else "right", no_wrap=bool(number), overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    console().print(table)


def share(value: float | None) -> str:
    """A rate in percent with one decimal; a dash for an undefined one."""
    return "-" if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """An interval in percent."""
    return "-" if low is None or high is None else f"{100 * low:.1f}-{100 * high:.1f}"
