"""Agent settings: strict, and a digest that moves with everything that can change behaviour."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from orchestrator.agents.claude import ClaudeAgent
from orchestrator.agents.command import CommandAgent
from orchestrator.agents.reference import NopAgent, OracleAgent
from orchestrator.agents.replay import ReplayAgent
from orchestrator.agents.settings import (
    AgentDeps,
    AgentSettings,
    ClaudeSettings,
    CommandSettings,
    SettingsError,
    build_agent,
)

ADAPTER: TypeAdapter[AgentSettings] = TypeAdapter(AgentSettings)
CLAUDE = {"kind": "claude", "name": "c", "model": "m"}


def parse(**given: object) -> AgentSettings:
    return ADAPTER.validate_python(given)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"kind": "oracle", "name": "o"}, OracleAgent),
        ({"kind": "nop", "name": "n"}, NopAgent),
        ({"kind": "command", "name": "x", "argv": ["true"]}, CommandAgent),
        ({"kind": "replay", "name": "r", "source": "folder"}, ReplayAgent),
        (CLAUDE, ClaudeAgent),
    ],
)
def test_every_kind_is_built(given: dict[str, object], made: type) -> None:
    agent = build_agent(parse(**given))
    assert isinstance(agent, made)
    assert agent.needs_model == (made is ClaudeAgent)
    assert agent.needs_solution == (made is OracleAgent)


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "oracle", "name": "o", "model": "m"},
        {"kind": "guess", "name": "o"},
        {"kind": "oracle", "name": "has space"},
        {"kind": "command", "name": "x"},
        {"kind": "command", "name": "x", "preset": "nobody"},
        {"kind": "command", "name": "x", "argv": ["a"], "parser": "nobody"},
        {"kind": "command", "name": "x", "preset": "claude-code"},
        {"kind": "command", "name": "x", "argv": ["a"], "env": {"A B": "1"}},
        {**CLAUDE, "temperature": 0.5, "thinking": "adaptive"},
        {**CLAUDE, "thinking": 20_000, "max_tokens": 10_000},
        {**CLAUDE, "max_turns": 0},
        {**CLAUDE, "temperature": float("nan")},
        {**CLAUDE, "model": "a; rm -rf /"},
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        parse(**given)


OTHER: dict[str, object] = {
    "display": (800, 600),
    "model": "n",
    "system": "s",
    "effort": "low",
    "thinking": "adaptive",
    "temperature": 0.5,
    "on_context_full": "stop",
    "tools": ("bash",),
    "user_model": "u",
}


def test_every_setting_but_the_name_moves_the_digest() -> None:
    plain = ClaudeSettings.model_validate(CLAUDE)
    digests = {plain.digest()}
    fields = [name for name in ClaudeSettings.model_fields if name not in ("name", "kind")]
    for name in fields:
        value = getattr(plain, name)
        other = OTHER[name] if name in OTHER else not value if isinstance(value, bool) else (value or 2) + 1
        digests.add(plain.model_copy(update={name: other}).digest())
    assert len(digests) == len(fields) + 1
    assert plain.model_copy(update={"name": "other"}).digest() == plain.digest()


def test_a_file_counts_with_its_content_and_a_host_variable_with_its_name(tmp_path: Path) -> None:
    tool = tmp_path / "tool.sh"
    tool.write_text("echo 1")
    files = [{"source": "tool.sh", "destination": "/opt/tool.sh", "executable": True}]
    given = parse(kind="command", name="x", argv=["/opt/tool.sh"], files=files, env_from_host=["SECRET"])
    assert isinstance(given, CommandSettings)
    here = given.relative_to(tmp_path)
    before = here.digest()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    (moved / "tool.sh").write_text("echo 1")
    assert given.relative_to(moved).digest() == before
    tool.write_text("echo 2")
    assert here.digest() != before
    spec = here.spec({"SECRET": "s3cr3t"})
    assert spec.env["SECRET"] == "s3cr3t"
    assert "s3cr3t" not in here.model_dump_json()
    with pytest.raises(SettingsError, match="SECRET not set"):
        build_agent(here, AgentDeps())
    tool.unlink()
    with pytest.raises(SettingsError, match="cannot be read"):
        here.digest()


def test_a_preset_is_part_of_the_digest_and_can_be_overridden() -> None:
    preset = parse(kind="command", name="x", preset="claude-code", model="m")
    changed = parse(kind="command", name="x", preset="claude-code", model="m", install=["RUN true"])
    assert isinstance(changed, CommandSettings)
    assert preset.digest() != changed.digest()
    assert build_agent(changed).image_layers() == ("RUN true",)
    assert build_agent(preset).needs_model
