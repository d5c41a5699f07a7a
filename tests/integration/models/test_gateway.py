"""The gateway as its own process: who may speak, what it costs, what is recorded, and where the key is not."""

import http.client
import json
import os
import pickle
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.agents.base import ModelEndpoint
from orchestrator.agents.claude import ClaudeAgent
from orchestrator.agents.settings import ClaudeSettings
from orchestrator.models.gateway import Gateway, GatewayConfig, GatewayError
from orchestrator.models.script import Behaviour, Case, Fault, Script, ToolUse, Turn
from tests.integration.models.conftest import KEY

DONE = Turn(text="done", usage={"input_tokens": 1000, "output_tokens": 200})
LOOK = Turn(tools=(ToolUse(input={"command": "echo hello"}),), usage={"input_tokens": 1000, "output_tokens": 200})
PRICE = 1000 * 1e-6 + 200 * 5e-6
BODY = {"model": "scripted", "max_tokens": 100, "messages": [{"role": "user", "content": "answer"}]}


def post(url: str, token: str, body: dict | None = None, header: str = "x-api-key") -> tuple[int, dict]:
    headers = {"content-type": "application/json", header: token}
    request = urllib.request.Request(url, json.dumps(body or BODY).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def play(gate: Gateway, trial, sandbox, attempt: str, **register):
    endpoint = gate.register(attempt, **register)
    agent = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="scripted", api_retries=2))
    result = agent.run(sandbox, trial.context(endpoint))
    return result, gate.close(attempt)


@pytest.mark.parametrize("stream", [True, False])
def test_it_adds_the_key_and_meters_what_the_agent_counts(serve, gateway, sandbox, trial, stream: bool) -> None:
    model, url = serve(LOOK, DONE, key=KEY)
    gate = gateway(url)
    endpoint = gate.register("a-0")
    settings = ClaudeSettings(kind="claude", name="c", model="scripted", stream=stream)
    result = ClaudeAgent(settings).run(sandbox, trial.context(endpoint))
    metered = gate.usage("a-0")
    assert result.ending == "finished"
    assert metered.cost_usd == pytest.approx(2 * PRICE)
    assert (metered.tokens_in, metered.tokens_out, metered.calls) == (2000, 400, 2)
    assert result.usage.cost_usd == pytest.approx(metered.cost_usd)
    headers = model.requests[0][0]
    assert headers["x-api-key"] == KEY
    assert endpoint.token not in str(headers)
    assert "x-passhat-attempt" not in str(headers).lower()


def test_one_attempt_cannot_speak_as_another(serve, gateway) -> None:
    _, url = serve(DONE)
    gate = gateway(url)
    one, two = gate.register("one"), gate.register("two")
    assert one.token != two.token
    assert post(one.url + "/v1/messages", one.token)[0] == 200
    assert post(one.url + "/v1/messages", "x" * 32)[0] == 403
    assert post(one.url + "/v1/messages", KEY)[0] == 403
    assert post(f"{one.url}/t/{two.token}/v1/messages", one.token)[0] == 200
    assert post(one.url + "/v1/messages", f"Bearer {two.token}", header="authorization")[0] == 200
    assert (gate.usage("one").calls, gate.usage("two").calls) == (1, 2)
    gate.close("one")
    assert post(one.url + "/v1/messages", one.token)[0] == 403
    with pytest.raises(GatewayError, match="already registered"):
        gate.register("two")


def test_from_other_nodes_attempts_are_let_in_by_who_holds_the_handle(serve, gateway) -> None:
    model, url = serve(DONE, key=KEY)
    handle = pickle.loads(pickle.dumps(gateway(url, control_host="127.0.0.1").handle))
    endpoint = handle.register("a-0")
    assert post(endpoint.url + "/v1/messages", endpoint.token)[0] == 200
    assert handle.close("a-0").tokens_out == 200
    assert handle.control_token not in repr(handle)
    for token in ("", "wrong", handle.control_token[:-1]):
        stranger = replace(handle, control_token=token)
        with pytest.raises(GatewayError, match="not let in"):
            stranger.register("b-0")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"http://{handle.control}/totals")
    assert len(model.requests) == 1


def test_it_forwards_to_the_listed_paths_only(serve, gateway) -> None:
    model, url = serve(DONE)
    gate = gateway(url)
    endpoint = gate.register("a")
    for path in ("/v1/messages/batches", "/v1/files", "/v1/organizations/api_keys", "/register", "/close/a"):
        assert post(endpoint.url + path, endpoint.token)[0] == 404
    assert model.requests == []


def test_an_attempts_budget_ends_it(serve, gateway, sandbox, trial) -> None:
    model, url = serve(LOOK)
    result, metered = play(gateway(url), trial, sandbox, "a", budget_usd=2.5 * PRICE)
    assert result.ending == "budget"
    assert metered.calls == 3
    assert len(model.requests) == 3


def test_a_sweeps_budget_ends_every_attempt(serve, gateway, sandbox, trial) -> None:
    model, url = serve(LOOK)
    gate = gateway(url, sweep_budget_usd=1.5 * PRICE)
    assert play(gate, trial, sandbox, "a")[0].ending == "budget"
    assert play(gate, trial, sandbox, "b")[0].ending == "budget"
    assert len(model.requests) == 2
    assert gate.handle.spent_usd() == pytest.approx(2 * PRICE)
    gate.handle.set_sweep_budget(None)
    assert post(gate.handle.url + "/v1/messages", gate.register("c").token)[0] == 200


def test_a_budget_without_a_price_is_refused(serve, gateway) -> None:
    _, url = serve(script=Script(models={"odd": Behaviour()}, cases=(Case(match="", solve=(DONE,)),)))
    gate = gateway(url)
    kept, free = gate.register("kept", budget_usd=1.0), gate.register("free")
    status, body = post(kept.url + "/v1/messages", kept.token, {**BODY, "model": "odd"})
    assert (status, body["error"]["type"]) == (402, "passhat_price")
    assert post(free.url + "/v1/messages", free.token, {**BODY, "model": "odd"})[0] == 200
    assert gate.usage("free").cost_usd is None


def test_a_placeholder_key_changes_no_answer(serve, gateway, sandbox, trial) -> None:
    _, url = serve(LOOK, DONE)
    result, metered = play(gateway(url, key="k"), trial, sandbox, "a")
    assert (result.ending, result.usage.turns, metered.calls) == ("finished", 2, 2)
    assert trial.of("tool")[0]["content"] == "hello"


def test_an_api_that_is_not_there_is_a_connection_failure(gateway, sandbox, trial) -> None:
    result, _ = play(gateway("http://127.0.0.1:9"), trial, sandbox, "a")
    assert result.ending == "model_error"
    assert "connection" in result.message
    assert result.usage.api_retries == 2


def test_faults_pass_through_and_are_not_retried_here(serve, gateway, sandbox, trial) -> None:
    model, url = serve(DONE.model_copy(update={"fault": Fault(kind="cut", times=1)}))
    result, metered = play(gateway(url), trial, sandbox, "a")
    assert result.ending == "finished"
    assert (result.usage.api_retries, metered.calls, len(model.requests)) == (1, 2, 2)


def test_record_then_replay_is_the_same_without_the_api(serve, gateway, sandbox, trial, stack, tmp_path: Path) -> None:
    limited = DONE.model_copy(update={"fault": Fault(kind="status", status=429, retry_after_s=0.01, times=1)})
    model, url = serve(LOOK, limited)
    store = str(tmp_path / "store")
    first, paid = play(gateway(url, recordings=store), trial, sandbox, "a", mode="record", tape="t")
    said = [event.get("content") for event in trial.of("assistant")]
    asked = len(model.requests)
    stack.close()
    replaying = gateway("http://127.0.0.1:9", recordings=store)
    trial.events.clear()
    second, metered = play(replaying, trial, sandbox, "b", mode="replay", tape="t")
    assert (first.ending, first.usage.api_retries) == ("finished", 1)
    assert (second.ending, second.usage.api_retries) == ("finished", 1)
    assert [event.get("content") for event in trial.of("assistant")] == said
    assert metered.cost_usd == pytest.approx(paid.cost_usd)
    assert len(model.requests) == asked
    assert replaying.handle.spent_usd() == 0.0


def test_a_request_that_was_never_recorded_is_named_with_a_diff(serve, gateway, sandbox, trial, tmp_path: Path) -> None:
    model, url = serve(LOOK, DONE)
    gate = gateway(url, recordings=str(tmp_path / "store"))
    play(gate, trial, sandbox, "a", mode="record", tape="t")
    asked = len(model.requests)
    endpoint = gate.register("b", mode="replay", tape="t")
    changed = trial.context(endpoint, instruction="Make the answer 43.")
    result = ClaudeAgent(ClaudeSettings(kind="claude", name="c", model="scripted")).run(sandbox, changed)
    assert (result.ending, result.flags) == ("model_error", ("not_recorded",))
    assert "Make the answer 42." in result.message
    assert "Make the answer 43." in result.message
    assert result.usage.calls == 1
    assert len(model.requests) == asked
    missing = gate.register("c", mode="replay", tape="other")
    status, body = post(missing.url + "/v1/messages", missing.token)
    assert (status, body["error"]["type"]) == (422, "passhat_recording")


def test_a_tape_needs_a_folder(gateway) -> None:
    with pytest.raises(GatewayError, match="recordings folder"):
        gateway("http://127.0.0.1:9").register("a", mode="record", tape="t")


def test_it_ends_with_its_owner(serve, gateway) -> None:
    _, url = serve(DONE)
    gate = gateway(url)
    pid = gate.pid
    assert pid is not None
    handle = gate.handle
    folder = Path(handle.control).parent
    assert folder.stat().st_mode & 0o077 == 0
    gate._process.stdin.close()  # what the kernel does for an owner that was killed
    gate._process.wait(10)
    assert not folder.exists()
    with pytest.raises(GatewayError, match="does not answer"):
        handle.spent_usd()


def test_what_keeps_it_from_starting_is_said() -> None:
    with pytest.raises(GatewayError, match="no key"):
        Gateway(GatewayConfig())
    with pytest.raises(GatewayError, match="never to the real API"):
        Gateway(GatewayConfig(announce_attempts=True), "k")
    with pytest.raises(GatewayError, match="did not start: FileNotFoundError"):
        Gateway(GatewayConfig(key_file="/nonexistent/key")).start()


def test_luck_follows_from_the_seed_where_attempts_are_named(serve, gateway) -> None:
    script = Script(
        seed=3,
        models={"scripted-erratic": Behaviour(success=0.7), "scripted-steady": Behaviour(success=0.7, steady=True)},
        cases=(Case(match="answer", solve=(Turn(text="solved"),), fail=(Turn(text="failed"),)),),
    )
    _, url = serve(script=script)
    gate = gateway(url, announce_attempts=True)

    def solved(attempt: str, model: str) -> bool:
        endpoint = gate.register(attempt)
        answer = post(endpoint.url + "/v1/messages", endpoint.token, {**BODY, "model": model})[1]
        gate.close(attempt)
        return answer["content"][0]["text"] == "solved"

    first = [solved(f"a-{n}", "scripted-erratic") for n in range(60)]
    assert first[:20] == [solved(f"a-{n}", "scripted-erratic") for n in range(20)]
    assert 30 <= sum(first) <= 54
    assert len({solved(f"a-{n}", "scripted-steady") for n in range(10)}) == 1


def test_a_canary_key_is_nowhere_but_in_the_gateways_process(
    serve, gateway, sandbox, trial, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The key stands in a file that only the gateway reads; an API that echoes it back changes nothing."""
    secret = tmp_path / "secret"
    secret.mkdir()
    canary = "sk-ant-api03-" + os.urandom(12).hex()
    (secret / "key").write_text(canary + "\n")
    echo = Fault(kind="status", status=500, message=f"key {canary} failed", times=1)
    model, url = serve(LOOK, DONE.model_copy(update={"fault": echo}), key=canary)
    gate = gateway(url, key_file=str(secret / "key"), recordings=str(tmp_path / "store"))
    result, metered = play(gate, trial, sandbox, "a", mode="record", tape="t")
    status, refused = post(gate.handle.url + "/v1/messages", "wrong")
    environment = Path(f"/proc/{gate.pid}/environ").read_bytes() + Path(f"/proc/{gate.pid}/cmdline").read_bytes()
    assert (result.ending, result.usage.api_retries) == ("finished", 1)
    assert "key [removed] failed" in str(trial.events)
    assert model.requests[0][0]["x-api-key"] == canary
    places: dict[str, bytes] = {
        "result": repr((result, metered, status, refused)).encode(),
        "transcript": json.dumps(trial.events, default=str).encode(),
        "sandbox": repr((sandbox.commands, sandbox.files)).encode(),
        "environment": environment + json.dumps(dict(os.environ)).encode(),
        "owner": repr((vars(gate), gate.handle)).encode(),
        "output": "".join(capfd.readouterr()).encode(),
        "requests": repr([body for _, body in model.requests]).encode(),
    }
    for path in sorted(tmp_path.rglob("*")):
        if path.is_file() and secret not in path.parents:
            places[str(path)] = _plain(path)
    assert [name for name, data in places.items() if canary.encode() in data] == []
    assert any(name.endswith(".zst") for name in places)


def test_a_slow_stream_arrives_as_it_is_sent(serve, gateway) -> None:
    _, url = serve(Turn(text="x", event_delay_s=600.0))
    gate = gateway(url)
    endpoint = gate.register("a")
    headers = {"content-type": "application/json", "x-api-key": endpoint.token}
    body = json.dumps({**BODY, "stream": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(endpoint.url + "/v1/messages", body, headers)) as answer:
        assert answer.readline() == b"event: message_start\n"


def test_closing_an_attempt_ends_what_still_runs_for_it(serve, gateway) -> None:
    _, url = serve(Turn(text="x", event_delay_s=600.0))
    gate = gateway(url)
    endpoint = gate.register("a")
    headers = {"content-type": "application/json", "x-api-key": endpoint.token}
    body = json.dumps({**BODY, "stream": True}).encode()
    with urllib.request.urlopen(urllib.request.Request(endpoint.url + "/v1/messages", body, headers)) as answer:
        answer.readline()
        assert gate.close("a").calls == 1
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            answer.read()


def _plain(path: Path) -> bytes:
    import zstandard

    data = path.read_bytes()
    return zstandard.decompress(data) if path.suffix == ".zst" else data


def test_an_endpoint_says_where_containers_reach_it(serve, gateway) -> None:
    _, url = serve(DONE)
    gate = gateway(url, host="0.0.0.0", container_host="172.17.0.1")
    inside: ModelEndpoint = gate.register("a", in_container=True)
    assert inside.url.startswith("http://172.17.0.1:")
    assert gate.register("b").url.startswith("http://127.0.0.1:")
