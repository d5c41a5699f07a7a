"""A tool in a real container reaches its model through the gateway, and nothing else."""

import secrets

import pytest

from orchestrator.agents.command import CommandAgent, CommandSpec
from orchestrator.agents.presets import parse_claude_json
from orchestrator.models.script import Turn
from sandboxes.base import Command, ImageSource, NetworkSpec
from sandboxes.bootstrap import BASE_REFERENCE
from tests.contract.sandbox_contract import request_for
from tests.integration.models.conftest import KEY
from tests.integration.sandboxes.engine import open_provider

pytestmark = pytest.mark.docker

TOOL = """
import json, os, sys, urllib.error, urllib.request
body = {"model": "scripted", "max_tokens": 9, "messages": [{"role": "user", "content": open(sys.argv[1]).read()}]}
headers = {"x-api-key": os.environ["TOKEN"], "content-type": "application/json"}
request = urllib.request.Request(os.environ["URL"] + "/v1/messages", json.dumps(body).encode(), headers)
answer = json.load(urllib.request.urlopen(request, timeout=20))
print(json.dumps({"type": "result", "subtype": "success", "num_turns": 1, "result": answer["content"][0]["text"]}))
"""


@pytest.fixture
def closed_network():
    """An engine network without a way out, and this host's address on it."""
    options = {"com.docker.network.bridge.enable_icc": "false"}
    name = f"passhat-test-{secrets.token_hex(4)}"
    with open_provider() as provider:
        engine = provider.engine.client
        engine.create_network(name, internal=True, options=options)
        try:
            yield name, engine.inspect_network(name)["IPAM"]["Config"][0]["Gateway"]
        finally:
            engine.remove_network(name)


def test_a_container_without_network_speaks_to_its_model_alone(serve, gateway, trial, closed_network) -> None:
    name, host = closed_network
    model, url = serve(Turn(text="forty-two"), key=KEY)
    gate = gateway(url, host=host, container_host=host)
    tool = ("python3", "-c", TOOL, "{instruction_file}")
    env = {"URL": "{base_url}", "TOKEN": "{token}"}
    agent = CommandAgent(CommandSpec(tool, env=env, needs_model=True, parse=parse_claude_json))
    with open_provider() as provider:
        image = provider.ensure_image(ImageSource(reference=BASE_REFERENCE))
        sandbox = provider.create(request_for(image, network=NetworkSpec(network_name=name)))
        try:
            result = agent.run(sandbox, trial.context(gate.register("a", in_container=True)))
            out = sandbox.exec(
                Command(("python3", "-c", "import socket; socket.create_connection(('1.1.1.1', 80), 3)"))
            )
            seen = sandbox.exec(Command(("sh", "-c", "cat /proc/*/environ /logs/agent/*; env"))).stdout.data
        finally:
            sandbox.remove()
    assert (result.ending, result.usage.turns) == ("finished", 1), (result, trial.events)
    assert "forty-two" in str(trial.of("tool"))
    assert gate.usage("a").calls == 1
    assert out.exit_code != 0
    assert KEY.encode() not in seen
    assert model.requests[0][0]["x-api-key"] == KEY
