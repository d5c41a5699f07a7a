"""Tables for a terminal: at most 80 columns wide where nothing else is known of it."""

from collections.abc import Sequence

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Standard output; 80 columns where it is no terminal."""
    found = Console(highlight=False, soft_wrap=False)
    return found if found.is_terminal else Console(highlight=False, width=80)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "", named: bool = False) -> None:
    """The first column is text and may fold; the others are right-aligned and never cut.

    named: names in the first column that are too long for their line are shortened in the middle, and stand whole
    below the table.
    """
    whole: dict[str, str] = {}
    if named and rows:
        whole = shortened([row[0] for row in rows], console().width - _rest(heads, rows))
        rows = [(whole[row[0]], *row[1:]) for row in rows]
    table = Table(
        box=None, padding=(0, 1), header_style="bold", title=title or None, title_justify="left", pad_edge=False
    )
    for number, head in enumerate(heads):
        table.add_column(Text(head), justify="left" if not number else "right", no_wrap=bool(number), overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    console().print(table)
    for name, short in whole.items():
        if short != name:
            typer.echo(f"{short}: {name}")


def _rest(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Columns of the terminal that all columns but the first take, with the two spaces before each."""
    return sum(2 + max(len(row[at]) for row in (heads, *rows)) for at in range(1, len(heads)))


def shortened(names: Sequence[str], width: int) -> dict[str, str]:
    """Each name in at most `width` letters (12 at least), without its middle; numbered where that makes two alike.

    >>> shortened(["claude-opus/1x", "claude-opus/3x", "b"], 12)
    {'claude-opus/1x': 'claude…us/1x', 'claude-opus/3x': 'claude…us/3x', 'b': 'b'}
    """
    distinct, most = list(dict.fromkeys(names)), max(12, width)
    found = {name: _without_middle(name, most) for name in distinct}
    if len(set(found.values())) < len(distinct):
        found = {
            name: f"{at} {_without_middle(name, most - len(str(len(distinct))) - 1)}"
            for at, name in enumerate(distinct, 1)
        }
    return found


def _without_middle(name: str, most: int) -> str:
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[len(name) - tail :]}"


def share(value: float | None) -> str:
    """A rate in percent with one decimal; a dash for an undefined one."""
    return "-" if value is None else f"{100 * value:.1f}"


def interval(low: float | None, high: float | None) -> str:
    """An interval in percent."""
    return "-" if low is None or high is None else f"{100 * low:.1f}-{100 * high:.1f}"
