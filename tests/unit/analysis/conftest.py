"""Results folders for the tests of the analysis, made once for a session."""

from pathlib import Path

import pytest

from orchestrator.analysis.simulate import AgentTruth, SettingTruth, Simulation, Truth

TWO_ARMS = Truth(
    agents=(AgentTruth("good", ability=1.0), AgentTruth("poor", ability=-0.5)),
    settings=(SettingTruth("1x", "1.0", oom=0.4, infrastructure=0.1), SettingTruth("3x", "3.0")),
    tasks=24,
    repeats=4,
    days=2,
    judged=True,
    retry_max=1,
)


@pytest.fixture(scope="session")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("simulated")
    Simulation.of(TWO_ARMS).write(root)
    return root


@pytest.fixture(scope="session")
def article(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """28 tasks x 10 repeats whose figures an article printed."""
    from orchestrator.analysis.importers.base import Options
    from orchestrator.analysis.importers.run import import_results

    root = tmp_path_factory.mktemp("article")
    table = Path(__file__).parents[2] / "data/published/article_fixture/haiku_coding_reconstructed.csv"
    import_results(table, str(root), Options(suite="coding", agent="small"))
    return root
