"""From a task to its attempts and from an attempt to its transcript: small pages beside the report."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined


@dataclass(frozen=True, slots=True)
class TaskLink:
    """A task's page and what it leads to."""

    task: str
    href: str
    words: str


@dataclass(frozen=True, slots=True)
class Page:
    """One file to write beside the report."""

    name: str
    text: str


def evidence_pages(
    attempts: Mapping[str, Sequence[Mapping[str, object]]],
    transcript: Callable[[str], str | None],
    folder: str,
    back: str,
) -> Iterator[tuple[TaskLink, Iterable[Page]]]:
    """For each task its link and its pages: the list of attempts, and a page for each transcript there is.

    attempts: rows (attempt_id, arm, repeat, attempt, status, total_s, failure_message, transcript_uri) by task.
    transcript(uri) gives its text, or None where it cannot be read, which the list then says.
    """
    environment = Environment(
        loader=PackageLoader("orchestrator.report", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    template = environment.get_template("evidence.html.j2")
    for task, rows in attempts.items():
        name = f"task-{_short(task)}.html"
        pages: list[Page] = []
        listed = []
        for row in rows:
            link = None
            uri = row.get("transcript_uri")
            text = transcript(str(uri)) if uri else None
            if text is not None:
                link = f"attempt-{_short(str(row['attempt_id']))}.html"
                title = f"{task}, attempt {row['attempt_id']}"
                pages.append(Page(link, template.render(title=title, back=name, back_words=task, rows=(), text=text)))
            listed.append({**row, "link": link})
        pages.append(
            Page(name, template.render(title=task, back=f"../{back}", back_words="report", rows=listed, text=""))
        )
        words = f"{len(rows)} attempts, {sum(row['link'] is not None for row in listed)} transcripts"
        yield TaskLink(task, f"{folder}/{name}", words), pages


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
