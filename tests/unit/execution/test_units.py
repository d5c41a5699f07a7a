"""The ready units: each calls the sweep as it is written there, whatever its path and name."""

import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml

from orchestrator.execution.units import cron_line, kubernetes_cronjob, systemd_units

PATHS = [Path("/srv/sweeps/nightly.toml"), Path("/srv/my sweeps/it's 100%.toml")]


def as_cron_reads(line: str) -> str:
    """The command of a crontab line: five fields, then text where an unescaped % would end it."""
    command = line.split(" ", 5)[5]
    assert not re.search(r"(?<!\\)%", command)
    return command.replace("\\%", "%")


@pytest.mark.parametrize("path", PATHS)
def test_a_crontab_line_runs_the_sweep_in_its_folder_and_keeps_what_it_says(path: Path) -> None:
    words = shlex.split(as_cron_reads(cron_line(path)))
    assert words[:3] == ["cd", str(path.parent), "&&"]
    assert words[3:8] == [sys.executable, "-m", "orchestrator.cli", "run", str(path)]
    assert words[8:] == [">>", str(path.with_suffix(".log")), "2>&1"]


def as_systemd_reads(text: str, key: str) -> str:
    (value,) = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
    assert not re.search(r"%", value.replace("%%", ""))
    return value.replace("%%", "%")


@pytest.mark.parametrize("path", PATHS)
def test_systemd_units_run_the_sweep_and_let_it_end_what_it_started(path: Path) -> None:
    text = systemd_units("nightly", path)
    assert as_systemd_reads(text, "WorkingDirectory") == str(path.parent)
    command = re.findall(r'"((?:[^"\\]|\\.)*)"', as_systemd_reads(text, "ExecStart"))
    assert command == [sys.executable, "-m", "orchestrator.cli", "run", str(path)]
    assert "KillSignal=SIGINT" in text
    assert "SuccessExitStatus=1" in text
    assert "passhat-nightly.service" in text
    assert "passhat-nightly.timer" in text


@pytest.mark.parametrize("name", ["nightly", "Nightly_run.v2+x", "x" * 64, "ends-"])
def test_a_cron_job_is_yaml_whose_names_kubernetes_takes(name: str) -> None:
    job = yaml.safe_load(kubernetes_cronjob(name, Path("/srv/sweep.toml")))
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    config_map = pod["volumes"][0]["configMap"]["name"]
    for made in (job["metadata"]["name"], config_map):
        assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", made)
        assert len(made) <= 52
    assert pod["containers"][0]["args"][:2] == ["run", "/sweep/sweep.toml"]
    assert job["spec"]["concurrencyPolicy"] == "Forbid"
