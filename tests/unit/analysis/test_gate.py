"""A gate holds or fails for a reason that is said, and a number that cannot be given fails it."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from scipy import stats

from orchestrator import api
from orchestrator.analysis.gate import Gate, judge, read_policy
from orchestrator.analysis.rows import RowsError
from orchestrator.report.gate import junit, markdown


def gate(tmp_path: Path, root: Path, text: str) -> Gate:
    path = tmp_path / "gate.toml"
    path.write_text(text)
    return judge(read_policy(path), [str(root)])


def test_a_gate_holds(tmp_path: Path, simulated: Path) -> None:
    found = gate(
        tmp_path,
        simulated,
        'arm = "agent=good resources=3x"\nmax_cost_per_solved_usd = 1.0\nmax_infrastructure_failure_rate = 0.05\n'
        '[[minimum]]\nstatistic = "pass^2"\nat_least = 0.2\n'
        '[[non_inferior]]\nbaseline = "agent=poor resources=3x"\nmargin = 0.05\n',
    )
    assert found.holds, found.paragraph()
    assert len(found.checks) == 4
    assert found.paragraph().startswith("The gate holds: all 4 checks passed.")


def test_each_kind_of_check_can_fail(tmp_path: Path, simulated: Path) -> None:
    found = gate(
        tmp_path,
        simulated,
        'arm = "agent=poor resources=1x"\nmax_cost_per_solved_usd = 0.0001\nmax_infrastructure_failure_rate = 0.0\n'
        '[[minimum]]\nstatistic = "pass@1"\nat_least = 0.99\n'
        '[[non_inferior]]\nbaseline = "agent=good resources=1x"\nmargin = 0.01\n',
    )
    assert [check.holds for check in found.checks] == [False] * 4
    assert "4 of 4 checks did not pass" in found.paragraph()


def test_the_interval_decides_unless_the_estimate_is_asked_for(tmp_path: Path, simulated: Path) -> None:
    text = 'arm = "agent=good resources=3x"\n[[minimum]]\nstatistic = "pass@1"\nat_least = {}\nbound = "{}"\n'
    estimate = gate(tmp_path, simulated, text.format(0.001, "estimate")).checks[0]
    assert estimate.holds
    rate = float(estimate.sentence.split(" is ")[1].split("%")[0]) / 100 - 0.01
    assert gate(tmp_path, simulated, text.format(rate, "estimate")).holds
    assert not gate(tmp_path, simulated, text.format(rate, "interval")).holds


def test_not_being_worse_is_tested_on_one_side_at_5_percent(tmp_path: Path, simulated: Path) -> None:
    """Margins beyond the one-sided limit hold, though the two-sided 95% interval reaches below them."""
    loaded = api.load(simulated)
    baseline, arm = "agent=good resources=3x", "agent=poor resources=3x"
    row = api.compare(loaded, baseline, arm)[0]
    df = row.estimand.tasks - 1
    error = (row.number.estimate - row.number.low) / stats.t.ppf(0.975, df)
    one_sided = row.number.estimate - stats.t.ppf(0.95, df) * error
    between = -(row.number.low + one_sided) / 2
    text = 'arm = "{}"\n[[non_inferior]]\nbaseline = "{}"\nmargin = {}\n'

    def holds(margin: float) -> bool | None:
        return gate(tmp_path, simulated, text.format(arm, baseline, margin)).checks[0].holds

    assert row.number.low < -between < one_sided < 0
    assert holds(between)
    assert holds(-one_sided + 0.001)
    assert holds(-one_sided - 0.001) is False


def test_a_number_that_cannot_be_given_fails(tmp_path: Path, simulated: Path) -> None:
    found = gate(
        tmp_path, simulated, 'arm = "agent=good resources=3x"\n[[minimum]]\nstatistic = "pass^99"\nat_least = 0.1\n'
    )
    assert found.checks[0].holds is None
    assert not found.holds


def test_junit_and_markdown_say_the_same(tmp_path: Path, simulated: Path) -> None:
    found = gate(tmp_path, simulated, '[[minimum]]\nstatistic = "pass@1"\nat_least = 0.5\n')
    suite = ElementTree.fromstring(junit(found))
    assert int(suite.attrib["tests"]) == len(found.checks) == 4
    assert int(suite.attrib["failures"]) == sum(check.holds is False for check in found.checks) > 0
    text = markdown(found)
    assert text.count("**fails**") == int(suite.attrib["failures"])
    assert text.startswith("### passhat gate: fails")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "demands nothing"),
        ("maximum = 3\n", "maximum.*found 3.*keys are"),
        ('[[minimum]]\nstatistic = "pass1"\nat_least = 0.5\n', r"minimum\.0\.statistic"),
        ("= 3", "cannot be read"),
    ],
)
def test_a_bad_policy_names_its_key(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "gate.toml"
    path.write_text(text)
    with pytest.raises(RowsError, match=said):
        read_policy(path)
