"""Metrics of a running sweep, read over HTTP in its middle and at its end; and the dashboard that asks for them."""

import json
import re
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from orchestrator.cli.metrics import PHASES, Metered, SweepMetrics, serving
from orchestrator.config import ConfigError
from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from tests.integration.sweeps.conftest import Silent

DASHBOARD = Path(__file__).parents[3] / "deploy" / "grafana" / "passhat.json"
SWEEP = """name = "watched"
suite = "suite"
repeats = 3
agents = [{ name = "nop", kind = "nop" }]
[retry]
max = 1
backoff_s = 0
"""
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(port: int) -> Samples:
    """Every sample by its name and labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def of(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


@pytest.fixture
def scraped(tmp_path: Path, task_folder: Callable[[Path], Path]) -> list[Samples]:
    """What was read after each row of a sweep, while it ran."""
    task_folder(tmp_path / "suite" / "task")
    (tmp_path / "sweep.toml").write_text(SWEEP)
    found: list[Samples] = []
    port = free_port()

    class Scraping(Silent):
        def hear(self, event: str, fields: Mapping[str, object]) -> None:
            if event == "attempt":
                found.append(scrape(port))

    with serving(str(port)) as metrics:
        request = Request(sweep=tmp_path / "sweep.toml", place=PlaceOptions(provider="fake", inline=True))
        run_due(request, lambda: Metered(Scraping(), metrics), quiet=True)
        found.append(scrape(port))
    with pytest.raises(OSError, match="refused"):
        scrape(port)
    return found


def free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_running_sweep_tells_its_attempts_as_they_end(scraped: list[Samples]) -> None:
    wanted = {"arm": "nop/1x/live", "status": "GRADER_ERROR", "origin": "infrastructure"}
    counts = [of(samples, "passhat_attempts_total", **wanted) for samples in scraped]
    assert counts == [1, 2, 3, 4, 5, 6, 6]
    assert [of(samples, "passhat_phase_seconds_count", phase="create") for samples in scraped] == counts


def test_the_gauges_follow_the_trials(scraped: list[Samples]) -> None:
    last = scraped[-1]
    assert of(last, "passhat_trials", arm="nop/1x/live", state="planned") == 3
    assert of(last, "passhat_trials", arm="nop/1x/live", state="done") == 3
    assert of(last, "passhat_trials", arm="nop/1x/live", state="no_verdict") == 3
    assert of(last, "passhat_waiting_trials") == 0
    assert of(scraped[0], "passhat_trials", arm="nop/1x/live", state="done") < 3


def test_tokens_cost_and_phases_are_those_of_the_rows() -> None:
    metrics = SweepMetrics()
    row = {"arm": "a/1x", "status": "PASSED", "origin": "agent", "cost_usd": 0.5, "tokens_in": 7, "cores_wait_s": 2.0}
    metrics.hear("attempt", row)
    metrics.hear("attempt", {**row, "cost_usd": None, "tokens_in": None, "used_oom_kills": 2})
    metrics.hear("engine", {"message": "slow"})
    registry = metrics.registry
    assert registry.get_sample_value("passhat_cost_usd_total", {"arm": "a/1x"}) == 0.5
    assert registry.get_sample_value("passhat_tokens_total", {"arm": "a/1x", "kind": "in"}) == 7
    assert registry.get_sample_value("passhat_oom_kills_total", {"arm": "a/1x"}) == 2
    assert registry.get_sample_value("passhat_phase_seconds_sum", {"phase": "cores_wait"}) == 4
    assert registry.get_sample_value("passhat_events_total", {"event": "engine"}) == 1


def test_every_query_of_the_dashboard_names_a_metric_and_labels_that_exist() -> None:
    metrics = SweepMetrics()
    metrics.hear(
        "attempt", {"arm": "a", "status": "PASSED", "origin": "agent", **{f"{phase}_s": 1.0 for phase in PHASES}}
    )
    metrics.hear("engine", {})
    there: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        there.setdefault(family.name, set())
        for sample in family.samples:
            there.setdefault(sample.name, set()).update(sample.labels)
    there["passhat_trials"] |= {"arm", "state"}
    there["passhat_tokens_total"] |= {"kind"}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"]]
    assert len(queries) >= len(panels) > 10
    named = {name for query in queries for name in re.findall(r"passhat_\w+", query)}
    assert named <= set(there), sorted(named - set(there))
    for query in queries:
        labels = set(re.findall(r"(\w+)=~?\"", query))
        grouped = re.findall(r"by \(([^)]*)\)", query)
        labels |= {word.strip() for words in grouped for word in words.split(",")}
        allowed = set().union(*(there[name] for name in re.findall(r"passhat_\w+", query)))
        assert labels <= allowed, (query, sorted(labels - allowed))
    phases = {
        word for query in queries for match in re.findall(r'phase=~?"([^"]*)"', query) for word in match.split("|")
    }
    assert phases <= set(PHASES)


@pytest.mark.parametrize("address", ["many", "70000", "host:"])
def test_an_address_that_is_none_is_refused_in_a_sentence(address: str) -> None:
    with pytest.raises(ConfigError, match="neither a port nor host:port"), serving(address):
        pass


def test_a_port_in_use_is_refused_in_a_sentence() -> None:
    port = free_port()
    with serving(str(port)), pytest.raises(ConfigError, match="choose another port"), serving(f"127.0.0.1:{port}"):
        pass
