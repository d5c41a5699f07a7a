"""What a person, a log file or a program sees while a sweep runs. Reads Progress; decides nothing."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import IO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from orchestrator.execution.progress import Progress

PLAIN_EVERY_S = 10.0


def clock_words(seconds: float | None) -> str:
    """1:05 or 2:03:04; a dash when unknown."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class Display:
    """Base of the three displays: hears events, is closed at the end."""

    def __init__(self) -> None:
        self.progress: Progress | None = None

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing to close."""


class LiveDisplay(Display):
    """A bar per arm that is redrawn a few times a second."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._live = Live(console=console, refresh_per_second=4, get_renderable=self._draw, transient=False)
        self._messages: list[str] = []
        self._live.start()

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        if event not in ("attempt", "progress"):
            self._messages = [*self._messages, message_words(event, fields)][-4:]

    def close(self) -> None:
        self._live.refresh()
        self._live.stop()

    def _draw(self) -> Group:
        if self.progress is None:
            return Group(Text("starting ...", style="dim"))
        width = self._live.console.width
        return Group(draw_progress(self.progress, width), *(Text(m, style="yellow") for m in self._messages))


def draw_progress(progress: Progress, width: int) -> Group:
    """The arms as bars and a line of totals; fits the width."""
    done = max([4, *(len(f"{arm.done}/{arm.planned}") for arm in progress.arms.values())])
    bar = max(6, min(24, width - 80))
    table = Table(box=None, padding=(0, 1, 0, 0), expand=False, show_header=True, header_style="dim")
    table.add_column("arm", no_wrap=True, max_width=max(10, width - bar - done - 38), overflow="ellipsis")
    table.add_column("", width=bar)
    for head, least in (("done", done), ("run", 3), ("pass", 5), ("fail", 5), ("res.", 4), ("infra", 5), ("oper.", 5)):
        table.add_column(head, justify="right", no_wrap=True, min_width=least)
    for name, arm in progress.arms.items():
        origins = arm.origins
        table.add_row(
            name,
            ProgressBar(total=max(1, arm.planned), completed=arm.done, complete_style="green", finished_style="green"),
            f"{arm.done}/{arm.planned}",
            str(arm.running),
            str(arm.passed),
            str(origins["agent"]),
            str(origins["resources"]),
            str(origins["infrastructure"]),
            str(origins["operator"]),
        )
    elapsed = clock_words(progress.now_s - progress.started_s)
    line = (
        f"{progress.done}/{progress.planned} trials  {progress.running} running  {progress.waiting} waiting  "
        f"elapsed {elapsed}  remaining {clock_words(progress.remaining_s)}"
    )
    return Group(table, Text(line, style="bold"))


class PlainDisplay(Display):
    """A line every ten seconds and one for each message; for logs and pipes."""

    def __init__(self, stream: IO[str], monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._stream, self._monotonic, self._last = stream, monotonic, -PLAIN_EVERY_S

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        if event == "progress":
            if self._monotonic() - self._last >= PLAIN_EVERY_S:
                self._line()
        elif event != "attempt":
            print(message_words(event, fields), file=self._stream, flush=True)

    def close(self) -> None:
        self._line()

    def _line(self) -> None:
        self._last = self._monotonic()
        p = self.progress
        if p is None:
            return
        passed = sum(a.passed for a in p.arms.values())
        infra = sum(a.origins["infrastructure"] for a in p.arms.values())
        print(
            f"{p.done}/{p.planned} trials, {p.running} running, {p.waiting} waiting, {passed} passed, "
            f"{infra} infrastructure failures, elapsed {clock_words(p.now_s - p.started_s)}, "
            f"remaining {clock_words(p.remaining_s)}",
            file=self._stream,
            flush=True,
        )


class JsonDisplay(Display):
    """One JSON object a line for each event but mere progress; for programs."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self._stream = stream

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        if event != "progress":
            print(json.dumps({"event": event, **fields}, default=str), file=self._stream, flush=True)


def message_words(event: str, fields: Mapping[str, object]) -> str:
    """One line for a person."""
    if event == "recovered":
        return f"recovered {fields['rows']} rows and {fields['lost']} lost attempts of a controller that died"
    return str(fields.get("message", f"{event} {dict(fields)}"))


def choose_display(as_json: bool, stream: IO[str] | None = None) -> Display:
    """Events for programs, a live display on a terminal, plain lines elsewhere."""
    if as_json:
        return JsonDisplay(stream or sys.stdout)
    if sys.stderr.isatty():
        return LiveDisplay(Console(stderr=True))
    return PlainDisplay(stream or sys.stderr)
