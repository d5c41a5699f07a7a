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
class Kept:
    """How what was kept of attempts is read: transcript(uri) gives its text, None where it cannot be read;
    screens(uri) gives the screenshots of an artifact archive as (name, PNG in base64)."""

    transcript: Callable[[str], str | None]
    screens: Callable[[str], Sequence[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Page:
    """One file to write beside the report."""

    name: str
    text: str


def evidence_pages(
    attempts: Mapping[str, Sequence[Mapping[str, object]]],
    kept: Kept,
    folder: str,
    back: str,
) -> Iterator[tuple[TaskLink, Iterable[Page]]]:
    """For each task its link and its pages: the list of attempts, and a page for each with transcript or screenshots.

    attempts: rows (attempt_id, arm, repeat, attempt, status, total_s, failure_message, transcript_uri,
    artifacts_uri) by task. Of a transcript that cannot be read the list says so.
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
            text = kept.transcript(str(uri)) if uri else None
            archive = row.get("artifacts_uri")
            screens = kept.screens(str(archive)) if archive else ()
            if text is not None or screens:
                link = f"attempt-{_short(str(row['attempt_id']))}.html"
                title = f"{task}, attempt {row['attempt_id']}"
                shown = {"title": title, "back": name, "back_words": task, "rows": (), "text": text or ""}
                pages.append(Page(link, template.render(shown, screens=screens)))
            listed.append({**row, "link": link, "read": text is not None, "screens": len(screens)})
        pages.append(
            Page(
                name,
                template.render(title=task, back=f"../{back}", back_words="report", rows=listed, text="", screens=()),
            )
        )
        words = f"{len(rows)} attempts, {sum(row['read'] is True for row in listed)} transcripts"
        yield TaskLink(task, f"{folder}/{name}", words), pages


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
