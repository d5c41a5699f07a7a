"""The model that one arm of the disturbed sweep asks: written turns over HTTP, and a count of what was asked.

It lives in the harness's process, so that it outlives every driver and gateway and knows what was paid for.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from orchestrator.models.script import Behaviour, Case, Script, ToolUse, Turn
from orchestrator.models.script_server import ScriptedModel, serve_script
from orchestrator.storage.reading import scan
from orchestrator.storage.root import Root
from tests.faults.checked import Checked

MODEL = "scripted-probe"
INSTRUCTION = "Do it."
TOKENS_IN, TOKENS_OUT = 1_000, 10
COMMANDS = ("sleep 0.05",) * 3 + ("touch /done",)
CALLS = len(COMMANDS) + 1
COLUMNS = (
    "attempt_id",
    "status",
    "origin",
    "final",
    "model",
    "calls",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "transcript_uri",
)


@dataclass(frozen=True, slots=True)
class Paid:
    """A model at `url` that wants `key`, which is a secret of this harness and stands nowhere else."""

    url: str
    model: ScriptedModel
    key: str = field(repr=False)

    @property
    def asked(self) -> int:
        return len(self.model.requests)


@contextmanager
def paid_model() -> Iterator[Paid]:
    """Serve the turns. Every answer costs the same, so that a row's tokens follow from its calls."""
    usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
    turns = [Turn(tools=(ToolUse(input={"command": command}),), usage=usage) for command in COMMANDS]
    case = Case(match=INSTRUCTION, solve=(*turns, Turn(text="Done.", usage=usage)))
    key = "sk-ant-api03-" + secrets.token_hex(16)
    model = ScriptedModel(Script(models={MODEL: Behaviour()}, cases=(case,)), api_key=key, keep=True)
    with serve_script(model) as server:
        yield Paid(server.url, model, key)


def check_spent(results: Path, paid: Paid, checked: Checked, whole: bool) -> None:
    """Every call is on the row of its attempt, with its tokens and its price, however the attempt ended.

    A request that was under way when its attempt was lost may be on no row: one for each lost attempt. `whole`
    False: where the fault itself takes rows away, only what is there is checked.
    """
    kept = under_way = 0
    for table in scan(Root(str(results)), COLUMNS):
        for row in table.to_pylist():
            if row["model"] != MODEL:
                continue
            calls = row["calls"] or 0
            kept += calls
            under_way += row["status"] == "LOST"
            checked.failed_paid += row["origin"] == "infrastructure" and calls > 0
            for fault in _faults(results, row, calls):
                checked.wrong += 1
                checked.notes.append(f"{row['attempt_id']} {row['status']}: {fault}")
    missing = paid.asked - kept
    if whole and not 0 <= missing <= under_way:
        checked.wrong += 1
        checked.notes.append(f"{paid.asked} calls were answered, {kept} are on rows, {under_way} may have been cut off")


def _faults(results: Path, row: dict[str, object], calls: int) -> Iterator[str]:
    tokens_in, tokens_out, cost = row["tokens_in"] or 0, row["tokens_out"] or 0, row["cost_usd"]
    assert isinstance(tokens_in, int)
    assert isinstance(tokens_out, int)
    cut = 1 if row["status"] == "LOST" else 0
    if not calls - cut <= tokens_in / TOKENS_IN <= calls or not calls - cut <= tokens_out / TOKENS_OUT <= calls:
        yield f"{calls} calls, {tokens_in} tokens in and {tokens_out} out"
    if calls and not isinstance(cost, float):
        yield f"{calls} calls without a cost"
    if row["status"] == "PASSED" and calls != CALLS:
        yield f"passed with {calls} calls instead of {CALLS}"
    uri = row["transcript_uri"]
    if isinstance(uri, str):
        with pa.input_stream(str(results / uri), compression="zstd") as stream:
            said = sum(json.loads(line).get("role") == "assistant" for line in stream.read().splitlines())
        if said > calls:
            yield f"{said} replies in the transcript and {calls} calls on the row"


def check_secret(results: Path, paid: Paid, checked: Checked) -> None:
    """The model's key is in no file of the results, also where it is packed."""
    needle = paid.key.encode()
    for path in sorted(results.rglob("*")):
        if not path.is_file() or path.suffix == ".parquet":
            continue
        with pa.input_stream(str(path), compression="zstd" if path.suffix == ".zst" else None) as stream:
            if needle in stream.read():
                checked.leaked += 1
                checked.notes.append(f"{path} holds the key")
    for table in scan(Root(str(results))):
        if paid.key in str(table.to_pylist()):
            checked.leaked += 1
            checked.notes.append("a row holds the key")
