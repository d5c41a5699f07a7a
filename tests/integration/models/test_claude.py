"""The claude agent against a scripted model over HTTP: what it does, and that every ending is one."""

from pathlib import Path

import pytest

from orchestrator.agents.base import AgentResult, ModelEndpoint
from orchestrator.agents.claude import ClaudeAgent
from orchestrator.agents.settings import ClaudeSettings
from orchestrator.models.script import Fault, ToolUse, Turn

DONE = Turn(text="done", usage={"input_tokens": 10, "output_tokens": 2})
LOOK = Turn(tools=(ToolUse(input={"command": "echo hello"}),), usage={"input_tokens": 100, "output_tokens": 10})


@pytest.fixture
def run(serve, sandbox, trial):
    """run(turn, .., setting=..) -> (result, scripted model)."""

    def start(*turns: Turn, context: dict | None = None, **settings) -> tuple[AgentResult, object]:
        model, url = serve(*turns)
        asked = ClaudeSettings(kind="claude", name="c", model="scripted", **settings)
        return ClaudeAgent(asked).run(sandbox, trial.context(ModelEndpoint(url, "token"), **(context or {}))), model

    return start


def test_tools_run_in_the_sandbox_and_the_model_is_told(run, trial, tmp_path: Path) -> None:
    edit = ToolUse(
        name="str_replace_based_edit_tool",
        input={"command": "create", "path": str(tmp_path / "work/new/answer.txt"), "file_text": "41\n"},
    )
    change = ToolUse(
        name="str_replace_based_edit_tool",
        input={
            "command": "str_replace",
            "path": str(tmp_path / "work/new/answer.txt"),
            "old_str": "41",
            "new_str": "42",
        },
    )
    result, _ = run(Turn(thinking="hm", text="I write.", tools=(edit,)), Turn(tools=(change,)), LOOK, DONE)
    assert result.ending == "finished"
    assert (tmp_path / "work/new/answer.txt").read_text() == "42\n"
    assert [event["content"] for event in trial.of("tool")][2] == "hello"
    assert trial.of("assistant")[0]["thinking"] == "hm"
    assert result.usage.turns == 4
    assert result.usage.calls == 4
    assert result.usage.cost_usd is not None
    assert result.usage.cost_usd > 0


def test_the_same_without_streaming(run, trial) -> None:
    result, model = run(LOOK, DONE, stream=False)
    assert (result.ending, result.usage.tokens_in, result.usage.tokens_out) == ("finished", 110, 12)
    assert all(body["stream"] is False for _, body in model.requests)


def test_parallel_calls_are_answered_together_and_in_order(run, trial) -> None:
    two = Turn(tools=(ToolUse(input={"command": "echo one"}), ToolUse(input={"command": "echo two"})))
    _, model = run(two, DONE)
    results = model.requests[1][1]["messages"][-1]["content"]
    assert [(r["tool_use_id"], r["content"]) for r in results] == [
        ("toolu_solve_0_0", "one"),
        ("toolu_solve_0_1", "two"),
    ]


def test_each_request_reads_from_the_cache_what_the_one_before_wrote(run) -> None:
    look = Turn(tools=LOOK.tools)
    result, model = run(look, look, Turn(text="done"))
    bodies = [body for _, body in model.requests]
    assert "cache_control" in bodies[0]["system"][-1]
    marked = [[i for i, m in enumerate(b["messages"]) if "cache_control" in m["content"][-1]] for b in bodies]
    assert marked == [[0], [0, 2], [2, 4]]
    assert str(bodies[2]).count("cache_control") <= 4
    assert result.usage.tokens_cache_read > 0
    assert result.usage.tokens_cache_written > 0


def test_thinking_goes_back_with_its_signature(run) -> None:
    _, model = run(Turn(thinking="secret plan", tools=LOOK.tools), DONE, thinking=2048)
    assert model.requests[1][1]["messages"][1]["content"][0] == {
        "type": "thinking",
        "thinking": "secret plan",
        "signature": "scripted",
    }
    assert model.requests[0][1]["thinking"] == {"type": "enabled", "budget_tokens": 2048}


FAULTS = [
    Fault(kind="status", status=429, times=2, retry_after_s=7),
    Fault(kind="status", status=529, times=2),
    Fault(kind="status", status=500, times=2),
    Fault(kind="cut", times=2),
    Fault(kind="reset", times=2),
    Fault(kind="error_event", times=2),
    Fault(kind="html", times=2),
    Fault(kind="encoding", times=2),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_a_passing_fault_is_retried_and_counted(run, trial, fault: Fault) -> None:
    result, model = run(DONE.model_copy(update={"fault": fault}))
    assert result.ending == "finished"
    assert result.usage.api_retries == 2
    assert result.usage.calls == 3
    assert len(model.requests) == 3
    assert len(trial.notes("api_retry")) == 2
    limiting = fault.kind == "error_event" or (fault.kind == "status" and fault.status in (429, 529))
    assert (result.usage.rate_limited_s > 0) == limiting
    if fault.retry_after_s:
        assert trial.slept_s == [7, 7]
        assert result.usage.rate_limited_s == pytest.approx(14)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_a_lasting_fault_is_the_models(run, trial, fault: Fault) -> None:
    result, model = run(DONE.model_copy(update={"fault": fault.model_copy(update={"times": 99})}), api_retries=1)
    assert result.ending == "model_error"
    assert result.message
    assert len(model.requests) == 2


def test_a_refused_key_stops_at_once(serve, sandbox, trial) -> None:
    _, url = serve(DONE, key="right")
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="scripted"))
    result = agent.run(sandbox, trial.context(ModelEndpoint(url, "wrong")))
    assert (result.ending, result.flags, result.usage.calls) == ("model_error", ("auth",), 1)


def test_no_endpoint_is_no_crash(sandbox, trial) -> None:
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="scripted"))
    assert agent.run(sandbox, trial.context(None)).ending == "model_error"


def test_a_gateway_that_is_gone(sandbox, trial) -> None:
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="scripted", api_retries=1))
    result = agent.run(sandbox, trial.context(ModelEndpoint("http://127.0.0.1:9", "t")))
    assert result.ending == "model_error"
    assert result.message.startswith("connection")


def test_an_unknown_model_is_not_retried(serve, sandbox, trial) -> None:
    model, url = serve(DONE)
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="nobody-1"))
    result = agent.run(sandbox, trial.context(ModelEndpoint(url, "t")))
    assert result.ending == "model_error"
    assert "unknown_model" in result.message
    assert result.usage.cost_usd == 0 or result.usage.cost_usd is None
    assert len(model.requests) == 1


def test_a_model_without_a_price_costs_null(run, serve, sandbox, trial) -> None:
    from orchestrator.models.script import Behaviour, Case, Script

    script = Script(models={"priceless": Behaviour()}, cases=(Case(match="", solve=(DONE,)),))
    _, url = serve(script=script)
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="priceless"))
    result = agent.run(sandbox, trial.context(ModelEndpoint(url, "t")))
    assert result.ending == "finished"
    assert result.usage.cost_usd is None
    assert result.usage.price_version is None
    assert result.usage.tokens_in == 10


def test_broken_json_of_a_tool_call_is_told_to_the_model(run, trial) -> None:
    broken = Turn(tools=(ToolUse(raw_input='{"command": "echo'),))
    result, model = run(broken, DONE)
    told = model.requests[1][1]["messages"][-1]["content"][0]
    assert result.ending == "finished"
    assert result.flags == ("broken_tool_input",)
    assert told["is_error"] is True
    assert "not valid JSON" in told["content"]
    assert model.requests[1][1]["messages"][1]["content"][0]["input"] == {}
    assert trial.of("assistant")[0]["tool_calls"][0]["broken"] == '{"command": "echo'


def test_a_tool_that_hangs_is_killed_and_told(run, trial) -> None:
    hang = Turn(tools=(ToolUse(input={"command": "sleep 30"}),))
    result, model = run(hang, DONE, tool_timeout_s=0.3)
    assert result.ending == "finished"
    assert "did not end within" in model.requests[1][1]["messages"][-1]["content"][0]["content"]
    assert trial.of("tool")[0]["timed_out"] is True


def test_unknown_tools_and_wrong_parameters_are_told(run) -> None:
    odd = Turn(tools=(ToolUse(name="browser"), ToolUse(input={"cmd": "ls"})))
    _, model = run(odd, DONE)
    results = model.requests[1][1]["messages"][-1]["content"]
    assert [r["is_error"] for r in results] == [True, True]
    assert "no tool named browser" in results[0]["content"]


def test_a_model_that_never_stops_hits_its_limit_of_turns(run) -> None:
    result, _ = run(LOOK, max_turns=5)
    assert (result.ending, result.usage.turns) == ("limit", 5)
    assert result.message.startswith("turns")


def test_token_and_cost_limits(run) -> None:
    result, _ = run(LOOK, token_limit=300)
    assert (result.ending, result.usage.turns) == ("limit", 3)
    assert result.message.startswith("tokens")


def test_a_cost_limit_is_a_budget(run) -> None:
    result, _ = run(LOOK, cost_limit_usd=0.0003)
    assert (result.ending, result.usage.turns) == ("budget", 2)


def test_a_full_context_drops_old_results_and_says_so(run, trial) -> None:
    full = LOOK.model_copy(update={"usage": {"input_tokens": 150, "output_tokens": 10}})
    result, model = run(LOOK, full, DONE, context_tokens=160, context_share=0.9)
    assert result.ending == "finished"
    assert "context_dropped" in result.flags
    assert trial.notes("context_dropped")
    assert "removed to make room" in str(model.requests[-1][1]["messages"][2])
    assert model.requests[-1][1]["messages"][-1]["content"][0]["content"] == "hello"


def test_a_full_context_can_end_the_run(run) -> None:
    result, _ = run(LOOK, context_tokens=110, on_context_full="stop")
    assert result.ending == "limit"
    assert result.message.startswith("context")


def test_the_apis_own_word_for_a_full_context(run) -> None:
    result, _ = run(LOOK, Turn(stop_reason="model_context_window_exceeded"), on_context_full="stop")
    assert result.ending == "limit"


def test_a_reply_cut_off_at_max_tokens_goes_on(run) -> None:
    result, model = run(Turn(text="I beg", stop_reason="max_tokens"), DONE)
    assert result.ending == "finished"
    assert result.flags == ("max_tokens",)
    assert "cut off" in model.requests[1][1]["messages"][-1]["content"][0]["text"]


def test_a_refusal_is_an_error_of_the_agent(run) -> None:
    result, _ = run(Turn(text="No.", stop_reason="refusal"))
    assert (result.ending, result.flags) == ("error", ("refusal",))


def test_an_empty_reply_ends_with_a_flag(run) -> None:
    result, _ = run(Turn())
    assert (result.ending, result.flags) == ("finished", ("empty_reply",))


def test_a_model_that_does_not_answer_in_time(run, trial) -> None:
    hang = DONE.model_copy(update={"fault": Fault(kind="hang")})
    result, _ = run(hang, context={"timeout_s": 0.4})
    assert result.ending == "timeout"


def test_a_wait_for_the_rate_limit_does_not_outlive_the_task(run, trial) -> None:
    limited = DONE.model_copy(update={"fault": Fault(kind="status", status=429, retry_after_s=59)})
    result, _ = run(limited, context={"timeout_s": 30.0})
    assert result.ending == "timeout"
    assert trial.slept_s == []


def test_a_slow_stream_is_cut_at_the_deadline(run) -> None:
    slow = Turn(text="x" * 2000, event_delay_s=0.05)
    assert run(slow, context={"timeout_s": 0.4})[0].ending == "timeout"


def test_a_long_output_keeps_head_and_tail(run) -> None:
    long = Turn(tools=(ToolUse(input={"command": "seq 1 100000"}),))
    _, model = run(long, DONE, tool_output_bytes=400)
    told = model.requests[1][1]["messages"][-1]["content"][0]["content"]
    assert told.startswith("1\n2\n")
    assert told.endswith("100000")
    assert "bytes dropped" in told
    assert len(told) < 600


USER = {"goal": "a refund for order 7", "opening": "Hi, my answer please", "known": {"order": "7"}}


def test_a_scripted_user_talks_until_it_has_nothing_to_say(run, trial) -> None:
    user = {**USER, "script": [{"pattern": "which order", "reply": "Order 7."}]}
    result, model = run(Turn(text="Which order?"), Turn(text="Refunded."), context={"simulated_user": user})
    assert result.ending == "finished"
    assert [event["content"] for event in trial.of("user")] == ["Hi, my answer please", "Order 7."]
    assert model.requests[0][1]["system"][0]["text"].endswith("Make the answer 42.")
    assert result.user_usage is None


def test_a_model_plays_the_user_at_its_own_cost(serve, sandbox, trial) -> None:
    from orchestrator.models.script import Behaviour, Case, Script

    script = Script(
        models={"scripted": Behaviour(), "scripted-user": Behaviour()},
        cases=(
            Case(match="You play a customer", solve=(Turn(text="Order 7."), Turn(text="###DONE###"))),
            Case(match="", solve=(Turn(text="Which order?"), Turn(text="Refunded."))),
        ),
    )
    model, url = serve(script=script)
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="scripted", user_model="scripted-user"))
    result = agent.run(sandbox, trial.context(ModelEndpoint(url, "t"), simulated_user=USER))
    assert result.ending == "finished"
    assert result.user_usage.calls == 2
    assert result.usage.calls == 2
    assert [event["content"] for event in trial.of("user")] == ["Hi, my answer please", "Order 7."]
    customer = [body for _, body in model.requests if body["model"] == "scripted-user"]
    assert all("tools" not in body for body in customer)
    assert trial.of("user")[0]["prompt_version"] == "user-1"


def test_a_user_that_nobody_can_play_is_an_error(run) -> None:
    assert run(DONE, context={"simulated_user": USER})[0].ending == "error"
    assert run(DONE, context={"simulated_user": {"goal": "x"}})[0].ending == "error"
