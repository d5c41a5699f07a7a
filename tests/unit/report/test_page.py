"""The report holds every figure with its sentence, table and words, and nothing an agent wrote as markup."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.attempts import read_attempts
from orchestrator.analysis.by_suite import of_suite, suites_of
from orchestrator.analysis.context import Settings
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.analysis.summary import aggregate
from orchestrator.analysis.tables import Summary
from orchestrator.api import plot
from orchestrator.report.evidence import Kept, evidence_pages
from orchestrator.report.page import FIGURES, Look, ThemeError, figures, page, read_theme

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    root = tmp_path_factory.mktemp("report")
    truth = Truth(
        agents=(AgentTruth("good", ability=1.0), AgentTruth(EVIL, ability=-0.5, cost_usd=0.2)),
        settings=(SettingTruth("1x", "1.0", oom=0.4, infrastructure=0.1), SettingTruth("3x")),
        tasks=20,
        repeats=4,
        days=2,
        judged=True,
    )
    Simulation.of(truth).write(root)
    return aggregate([str(root)], Settings(replicates=500))


@pytest.fixture(scope="module")
def html(summary: Summary) -> str:
    return page(summary, (), Look(static=False))


def test_every_figure_is_drawn_with_its_sentence_words_and_table(summary: Summary) -> None:
    drawn = figures(summary)
    assert len(drawn) == len(FIGURES) == 14
    for figure in drawn:
        assert figure.spec is not None, figure.key
        assert figure.sentence.endswith("."), figure.key
        assert figure.words.endswith("."), figure.key
        assert figure.table.rows, figure.key
        assert all(len(row) == len(figure.table.heads) for row in figure.table.rows), figure.key


def test_names_are_escaped_everywhere(html: str) -> None:
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "&lt;img src=x" in html


def test_the_page_needs_nothing_from_a_network(html: str) -> None:
    assert not re.search(r'<(?:script|link|img|iframe)[^>]+(?:src|href)=["\'](?:https?:)?//', html)
    assert "default-src 'none'" in html


def test_specifications_are_whole_in_the_page(html: str, summary: Summary) -> None:
    text = re.search(r'<script type="application/json" id="specs">(.*?)</script>', html, re.DOTALL).group(1)
    specs = json.loads(text)
    assert set(specs) == {figure.key for figure in figures(summary) if figure.spec is not None}
    assert EVIL in json.dumps(specs)


def test_a_figure_that_cannot_be_drawn_says_why(summary: Summary) -> None:
    bare = replace(summary, judges=(), comparisons=(), factors=(), days=())
    notes = {figure.key: figure.note for figure in figures(bare) if figure.spec is None}
    assert set(notes) == {"judges", "differences", "days"}
    text = page(bare, (), Look(static=False))
    for note in notes.values():
        assert note in text


def test_undrawn_pictures_stand_in_for_charts(summary: Summary) -> None:
    assert page(summary, (), Look()).count("<svg") >= 5


def test_attempts_lead_to_escaped_transcripts() -> None:
    row = {
        "attempt_id": "abc-0", "arm": EVIL, "repeat": 0, "attempt": 0, "status": "FAILED", "total_s": 1.0,
        "failure_message": EVIL, "transcript_uri": "transcripts/abc", "artifacts_uri": "transcripts/abc.tar",
    }  # fmt: skip
    gone = {**row, "attempt_id": "abd-0", "transcript_uri": "transcripts/gone", "artifacts_uri": None}
    none = {**row, "attempt_id": "abe-0", "transcript_uri": None, "artifacts_uri": None}
    texts = {"transcripts/abc": f"said {EVIL}"}
    kept = Kept(texts.get, {"transcripts/abc.tar": [(f"{EVIL}.png", "iVBORw0KGgo=")]}.__getitem__)
    ((link, pages),) = evidence_pages({"t/../x": [row, gone, none]}, kept, "report_files", "report.html")
    made = {item.name: item.text for item in pages}
    assert link.href.removeprefix("report_files/") in made
    listing = made[link.href.removeprefix("report_files/")]
    transcript = next(name for name in made if name.startswith("attempt-"))
    assert f'href="{transcript}"' in listing
    assert "cannot be read" in listing
    assert len(made) == 2
    for text in made.values():
        assert "<script" not in text
        assert text.count("<img") == ("screenshots" not in text and "<pre>" in text)
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in made[transcript]
    assert "1 screenshots" in listing


def test_a_theme_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "theme.json").write_text("[1]")
    with pytest.raises(ThemeError, match="no JSON object"):
        read_theme(tmp_path / "theme.json")


def test_two_suites_stand_one_after_the_other_and_share_no_chart(tmp_path: Path) -> None:
    for suite, ability in (("first", 1.0), ("second", -1.0)):
        truth = Truth(agents=(AgentTruth("same", ability=ability),), settings=(SettingTruth("3x"),), tasks=8, repeats=4)
        Simulation.of(replace(truth, suite=suite)).write(tmp_path / suite)
    both = aggregate([str(tmp_path / name) for name in ("first", "second")], Settings(replicates=200))
    assert suites_of(both) == ("first", "second")
    assert {row.arm.suite for row in of_suite(both, "first").tasks} == {"first"}
    text = page(both, (), Look(static=False))
    assert re.findall(r'<h2 class="suite" id="(.*?)">Suite (.*?)</h2>', text) == [
        ("suite-1", "first"),
        ("suite-2", "second"),
    ]
    specs = json.loads(re.search(r'id="specs">(.*?)</script>', text, re.DOTALL).group(1))
    for number, suite in enumerate(suites_of(both), 1):
        (own,) = figures(of_suite(both, suite))[:1]
        assert specs[f"{own.key}-{number}"] == own.spec
        assert f'data-chart="{own.key}-{number}"' in text
    attempts = read_attempts([str(tmp_path / name) for name in suites_of(both)], both, tasks=3)
    for name, rows in attempts.items():
        assert {f"{row['suite']}: {row['task']}" for row in rows} == {name}
    with pytest.raises(ValueError, match="first, second: name one"):
        plot(both, "scores")
    assert plot(both, "scores", suite="second")
