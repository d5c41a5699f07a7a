"""The report in a browser: offline, light, dark, narrow and printed, every chart drawn and nothing executed."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from orchestrator.analysis.context import Settings
from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth
from orchestrator.analysis.summary import aggregate
from orchestrator.report.evidence import TaskLink
from orchestrator.report.page import Look, figures, page

pytestmark = pytest.mark.browser
EVIL = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four arms, five days, two settings, names that try to be markup."""
    root = tmp_path_factory.mktemp("browser")
    truth = Truth(
        agents=(AgentTruth("steady", ability=1.0), AgentTruth(EVIL, ability=-0.3, cost_usd=0.15)),
        settings=(SettingTruth("1x", "1.0", oom=0.3, infrastructure=0.05), SettingTruth("3x")),
        tasks=30,
        repeats=3,
        days=5,
        judged=True,
    )
    Simulation.of(truth).write(root)
    summary = aggregate([str(root)], Settings(replicates=1000))
    assert {figure.key for figure in figures(summary) if figure.spec is None} == set()
    path = root / "report.html"
    path.write_text(page(summary, [TaskLink(EVIL, "report_files/x.html", "3 attempts")], Look(static=False)))
    return path


def open_page(browser: Browser, path: Path, width: int, scheme: str) -> tuple[Page, list[str]]:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)  # type: ignore[arg-type]
    opened, trouble = context.new_page(), []
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
    opened.goto(path.as_uri())
    opened.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    return opened, trouble


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_every_chart_is_drawn_and_the_page_fits(browser: Browser, report: Path, width: int, scheme: str) -> None:
    opened, trouble = open_page(browser, report, width, scheme)
    assert trouble == []
    states = opened.eval_on_selector_all("[data-chart]", "all => all.map(one => one.dataset.drawn)")
    assert states == ["yes"] * 14
    shapes = opened.eval_on_selector_all(
        "[data-chart] svg.marks", "all => all.map(one => one.querySelectorAll('path').length)"
    )
    assert len(shapes) == 14
    assert min(shapes) > 3
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.evaluate("window.hacked") is None
    opened.context.close()


def test_dark_and_light_differ_and_text_can_be_read(browser: Browser, report: Path) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        opened, _ = open_page(browser, report, 1280, scheme)
        seen[scheme] = opened.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " document.querySelector('[data-chart=scores] svg.marks .role-axis-label text').getAttribute('fill')]"
        )
        opened.context.close()
    assert seen["light"] == ["rgb(255, 255, 255)", "#1c2430"]
    assert seen["dark"] == ["rgb(18, 22, 28)", "#e6eaf0"]


def test_a_chart_can_be_saved_as_svg_and_png(browser: Browser, report: Path) -> None:
    opened, _ = open_page(browser, report, 1280, "light")
    links = opened.eval_on_selector_all("#scores .vega-actions a", "all => all.map(one => one.textContent)")
    assert [link for link in links if "SVG" in link]
    assert [link for link in links if "PNG" in link]
    assert not [link for link in links if "Editor" in link]
    opened.click("#scores .vega-embed summary")
    with opened.expect_download() as waiting:
        opened.click("#scores .vega-actions a:has-text('SVG')")
    assert waiting.value.suggested_filename == "passhat-scores.svg"
    opened.context.close()


def test_charts_have_words_and_tables_and_print_opens_them(browser: Browser, report: Path) -> None:
    opened, _ = open_page(browser, report, 1280, "light")
    words = opened.eval_on_selector_all(
        "figure[role=img]", "all => all.map(one => one.getAttribute('aria-label').length)"
    )
    assert len(words) == opened.locator("figure").count() >= 10
    assert min(words) > 20
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.eval_on_selector_all("details.table", "all => all.every(one => one.open)")
    assert len(opened.pdf()) > 20_000
    opened.context.close()


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("chart", ["effects", "drift", "fairness"])
def test_names_do_not_lie_on_lines(browser: Browser, report: Path, width: int, chart: str) -> None:
    opened, _ = open_page(browser, report, width, "light")
    boxes = """(marks) => marks.map(mark => mark.getBoundingClientRect()).filter(box => box.width > 0)
        .map(box => [box.left, box.top, box.right, box.bottom])"""
    names = opened.eval_on_selector_all(f"[data-chart={chart}] .mark-text text", boxes)
    lines = opened.eval_on_selector_all(f"[data-chart={chart}] .mark-rule line", boxes)
    across = [line for line in lines if line[2] - line[0] > line[3] - line[1]]
    assert len(names) > len(across) > 0
    for name in names:
        assert name[2] <= width
        assert [line for line in across if line[1] < name[3] - 2 and line[3] > name[1] + 2] == []
    opened.context.close()


def test_printed_charts_are_as_wide_as_the_paper(browser: Browser, report: Path) -> None:
    opened, _ = open_page(browser, report, 1280, "light")
    opened.emulate_media(media="print")
    opened.set_viewport_size({"width": 700, "height": 1000})
    wide = opened.eval_on_selector_all(
        "svg.marks", "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
    )
    assert wide <= 700
    opened.context.close()
