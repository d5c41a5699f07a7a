"""Runs cheats as command agents against the attacked tasks on the real engine, and reads what became of each."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from orchestrator.config import ResourceSetting, SuiteSelection, SweepConfig
from orchestrator.execution.place import PlaceOptions
from orchestrator.execution.running import Request, run_due
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root

CANARY = "no-container-may-see-this"
PREPARE = "mkdir -p /app /opt/library; printf 'NAME = \"tiny\"\\ndef double(x):\\n    return x + 1\\n' > /opt/library/tiny.py; cd /app\n"
COLUMNS = ("agent", "task", "status", "suspect", "flags", "failure_message", "final", "transcript_uri")


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one cheat against one task. `passes`: it would count as solved."""

    cheat: str
    task: str
    status: str
    suspect: bool
    flags: tuple[str, ...]
    message: str
    leaks: tuple[str, ...]

    @property
    def mode(self) -> str:
        return self.task.rsplit("-", 1)[1]

    @property
    def passes(self) -> bool:
        return self.status == "PASSED" and not self.suspect and self.cheat != "honest"

    @property
    def bad(self) -> bool:
        honest_failed = self.cheat == "honest" and self.status != "PASSED"
        return self.passes or bool(self.leaks) or honest_failed


class Silent:
    """A display that shows nothing."""

    progress = None

    def hear(self, event: str, fields: Mapping[str, object]) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """Nothing is held."""


def attack(suite: Path, cheats: Mapping[str, str], results: Path, inline: bool = False) -> list[Result]:
    """One sweep with one arm per cheat, and the honest solution beside them. `inline`: without Ray."""
    agents: list[dict[str, object]] = [{"name": "honest", "kind": "oracle"}]
    for name, script in cheats.items():
        agents.append({"name": name, "kind": "command", "argv": ["/bin/bash", "-c", PREPARE + script], "timeout_s": 30})
    config = SweepConfig.model_validate(
        {
            "name": "hostile",
            "suite": SuiteSelection(path=str(suite)),
            "agents": agents,
            "resources": [ResourceSetting(name="1x", pids_limit=512)],
            "retry": {"max": 0},
            "results": str(results),
        }
    )
    os.environ["PASSHAT_HOSTILE_CANARY"] = CANARY
    try:
        run_due(Request(config=config, place=PlaceOptions(inline=inline)), Silent, quiet=True)
    finally:
        del os.environ["PASSHAT_HOSTILE_CANARY"]
    return read_results(results)


def read_results(results: Path) -> list[Result]:
    """Every final row, with what its transcript betrays."""
    found = []
    for table in scan(Root(str(results)), COLUMNS):
        for row in table.to_pylist():
            if row["final"]:
                found.append(
                    Result(
                        row["agent"],
                        row["task"],
                        row["status"],
                        bool(row["suspect"]),
                        tuple(row["flags"] or ()),
                        (row["failure_message"] or "").splitlines()[0][:160] if row["failure_message"] else "",
                        _leaks(results, row["transcript_uri"]),
                    )
                )
    return sorted(found, key=lambda r: (r.cheat, r.task))


def _leaks(results: Path, uri: str | None) -> tuple[str, ...]:
    """What a cheat got hold of, and the canary itself wherever it is."""
    if uri is None:
        return ()
    path = results / uri
    if not path.is_file():
        path = Path(uri.removeprefix("file://"))
    with pa.input_stream(str(path), compression="zstd") as stream:
        text = stream.read()
    words = {piece.split(b'"')[0].split(b"\\")[0].decode(errors="replace") for piece in text.split(b"LEAK-")[1:]}
    return tuple(sorted(words | ({"canary"} if CANARY.encode() in text else set())))
