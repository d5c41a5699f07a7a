"""Command agents: what is run, what is brought along, and what each ending means."""

import json

import pytest

from orchestrator.agents.base import ModelEndpoint
from orchestrator.agents.command import BroughtFile, CommandAgent, CommandSpec, fill
from orchestrator.agents.presets import PRESETS, parse_claude_json
from sandboxes.fake import answered

END = ModelEndpoint("http://gate:1", "tok")
RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "total_cost_usd": 0.25,
    "num_turns": 7,
    "duration_api_ms": 1500,
    "result": "done",
    "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 30},
    "modelUsage": {"claude-x": {}},
}


def test_the_command_runs_as_the_tasks_user_with_everything_filled_in(place, context, events) -> None:
    spec = CommandSpec(
        argv=("tool", "--model={model}", "{instruction_file}", "{instruction}", "{other}"),
        env={"URL": "{base_url}", "KEY": "{token}"},
        files=(BroughtFile("/opt/x", b"x", 0o755),),
        model="m",
        needs_model=True,
        timeout_s=30.0,
    )
    sandbox = place(lambda s, c: answered(0, b"out", b"err"))
    agent = CommandAgent(spec)
    agent.setup(sandbox, context())
    result = agent.run(sandbox, context(endpoint=END))
    command = sandbox.commands[0]
    assert command.argv == ("tool", "--model=m", "/logs/agent/instruction.md", "Do {model} things.", "{other}")
    assert dict(command.env) == {"TASK": "1", "URL": "http://gate:1", "KEY": "tok"}
    assert (command.user, command.workdir, command.timeout_s) == ("worker", "/app", 30.0)
    assert sandbox.read("/logs/agent/instruction.md") == b"Do {model} things."
    assert sandbox.files["/opt/x"].mode == 0o755
    assert result.ending == "finished"
    assert [event["content"] for event in events] == ["Do {model} things.", "out", "err"]


@pytest.mark.parametrize(
    ("code", "ending"),
    [(0, "finished"), (1, "finished"), (137, "finished"), (126, "error"), (127, "error"), (None, "timeout")],
)
def test_the_exit_code_is_a_signal_and_no_verdict(place, context, code: int | None, ending: str) -> None:
    result = CommandAgent(CommandSpec(("x",))).run(place(lambda s, c: answered(code)), context())
    assert (result.ending, result.exit_code) == (ending, code)


def test_without_an_endpoint_a_model_command_is_not_run(place, context) -> None:
    sandbox = place()
    assert CommandAgent(CommandSpec(("x",), needs_model=True)).run(sandbox, context()).ending == "model_error"
    assert sandbox.commands == []


def test_claude_p_reports_its_cost_and_turns(place, context) -> None:
    preset = PRESETS["claude-code"]
    spec = CommandSpec(preset.argv, env=preset.env, model="claude-x", needs_model=True, parse=parse_claude_json)
    sandbox = place(lambda s, c: answered(1, json.dumps(RESULT).encode()))
    result = CommandAgent(spec).run(sandbox, context(endpoint=END))
    usage = result.usage
    assert (result.ending, result.exit_code) == ("finished", 1)
    assert (usage.cost_usd, usage.turns, usage.model_wait_s, usage.model) == (0.25, 7, 1.5, "claude-x")
    assert (usage.tokens_in, usage.tokens_out, usage.tokens_cache_read, usage.tokens_cache_written) == (
        10,
        20,
        30,
        None,
    )
    assert sandbox.commands[0].argv[-2:] == ("claude-x", "/logs/agent/instruction.md")
    assert sandbox.commands[0].env["ANTHROPIC_API_KEY"] == "tok"


def test_a_report_of_failure_or_none_is_an_error() -> None:
    failed = {**RESULT, "is_error": True, "subtype": "error_max_turns"}
    assert parse_claude_json(json.dumps(failed)).error == "claude -p reported error_max_turns"
    assert parse_claude_json(json.dumps(failed)).usage.cost_usd == 0.25
    for output in ("", "Segmentation fault", "[]", '{"type": "assistant"}'):
        assert parse_claude_json(output).error is not None


def test_streamed_lists_and_noise_around_the_result_are_read() -> None:
    line = json.dumps(RESULT)
    for output in (json.dumps([{"type": "system"}, RESULT]), f"warning\n{line}\n", f'{{"type": "system"}}\n{line}'):
        assert parse_claude_json(output).usage.turns == 7


def test_malformed_numbers_stay_unknown() -> None:
    odd = {**RESULT, "total_cost_usd": "0.3", "num_turns": True, "usage": [], "modelUsage": None}
    usage = parse_claude_json(json.dumps(odd)).usage
    assert (usage.cost_usd, usage.turns, usage.tokens_in, usage.model) == (None, None, None, None)
    assert parse_claude_json('{"type": "result", "total_cost_usd": NaN}').usage.cost_usd is None


def test_what_is_filled_in_is_never_filled_again() -> None:
    assert fill("{a}{b}{c}", {"a": "{b}", "b": "x"}) == "{b}x{c}"
