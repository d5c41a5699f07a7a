"""Starts what serves models to a run: the gateway, and a scripted model in the API's place where asked.

The key goes from the environment, or a file, to the gateway's process and nowhere else. On one machine the
gateway also has a closed network, for agents in containers; in a cluster every node has a door of its own
(orchestrator.execution.model_door).
"""

import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.agents.settings import AgentDeps, build_agent
from orchestrator.config import ConfigError, SweepConfig
from orchestrator.execution.freeze import Frozen
from orchestrator.execution.model_access import ModelAccess
from orchestrator.models.gateway import Gateway, GatewayConfig
from orchestrator.models.judging import JudgeSettings
from orchestrator.models.script import Behaviour
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import usage_folder
from sandboxes.closed_network import closed_network
from sandboxes.docker import DockerProvider

KEY_VARIABLE = "ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class ModelNeeds:
    """What a sweep needs of models; may be pickled. `speaking`: names of agents that ask one; `in_containers`:
    whether one of them does so from inside its container; `location`: of the results."""

    config: SweepConfig
    sweep_id: str
    location: str
    speaking: tuple[str, ...]
    in_containers: bool


def model_needs(frozen: Frozen, root: Root, environment: Mapping[str, str]) -> ModelNeeds | None:
    """None when nothing in the sweep asks a model. Raises ConfigError for a frozen lane without recordings."""
    deps = AgentDeps(host_env=environment)
    speaking = [a for a in frozen.agents.values() if build_agent(a, deps).needs_model]
    if not speaking and frozen.config.model.judge is None:
        return None
    check_frozen_lane(frozen, root)
    names = tuple(agent.name for agent in speaking)
    inside = any(agent.kind == "command" for agent in speaking)
    return ModelNeeds(frozen.config, frozen.plan.sweep_id, root.location, names, inside)


def recordings_folder(config: SweepConfig, root: Root) -> Path:
    """Where tapes are. Raises ConfigError for a remote root without `model.recordings`."""
    if config.model.recordings is not None:
        return Path(config.model.recordings)
    if not root.is_local:
        raise ConfigError("model.recordings is needed where results are not on a local disk; name a folder")
    return Path(root.path("recordings"))


def check_frozen_lane(frozen: Frozen, root: Root) -> None:
    """Raise ConfigError when the frozen lane has nothing to replay for an agent that asks a model."""
    if "frozen" not in frozen.config.lanes:
        return
    folder = recordings_folder(frozen.config, root) / "tapes"
    if not folder.is_dir() or not any(folder.iterdir()):
        raise ConfigError(
            f"lane frozen was asked for and {folder} holds no recording; run the live lane first with model.record = true"
        )


@contextmanager
def serve_models(
    needs: ModelNeeds, environment: Mapping[str, str], say: Callable[[str], None], address: str | None = None
) -> Iterator[ModelAccess]:
    """The way to models for as long as the block lasts. Raises ConfigError, GatewayError, SandboxError.

    `address`: this node's in its cluster; None: for processes of this machine alone.
    """
    config, setting = needs.config, needs.config.model
    root = Root(needs.location)
    with ExitStack() as held:
        upstream, key = _upstream(needs, environment, held, say)
        closed = None
        if needs.in_containers and address is None:
            provider = held.enter_context(DockerProvider.from_environment(environment))
            closed = held.enter_context(closed_network(provider.engine, needs.sweep_id))
        needs_tapes = setting.record or "frozen" in config.lanes
        usage_log = usage_folder(root, needs.sweep_id) / f"{secrets.token_hex(8)}.jsonl"
        gateway = Gateway(
            GatewayConfig(
                host=address or (closed.host if closed else "127.0.0.1"),
                container_host=closed.host if closed else None,
                control_host=address,
                upstream=upstream,
                key_file=setting.key_file,
                sweep_budget_usd=config.budget.usd,
                max_concurrency=setting.max_concurrency,
                rate_per_s=setting.rate_per_s,
                recordings=str(recordings_folder(config, root)) if needs_tapes else None,
                prices_file=setting.prices_file,
                announce_attempts=setting.scripted is not None,
                usage_log=str(usage_log),
            ),
            api_key=key,
        )
        held.callback(gateway.stop)
        yield ModelAccess(
            gateway.start(),
            needs.sweep_id,
            record=setting.record,
            attempt_budget_usd=setting.attempt_budget_usd,
            closed_network=closed.name if closed else None,
            doors=needs.in_containers and address is not None,
            judge_settings=_judge_settings(config),
        )
    usage_log.unlink(missing_ok=True)  # not after an exception: rows may lack what only this file tells


def _judge_settings(config: SweepConfig) -> JudgeSettings | None:
    chosen = config.model.judge
    return JudgeSettings(chosen.model, chosen.max_tokens, chosen.temperature) if chosen else None


def _upstream(
    needs: ModelNeeds, environment: Mapping[str, str], held: ExitStack, say: Callable[[str], None]
) -> tuple[str, str | None]:
    """The API's address, and its key where it is not in a file."""
    config, setting = needs.config, needs.config.model
    if setting.scripted is not None:
        from orchestrator.models.script_server import ScriptedModel, serve_script
        from orchestrator.models.suite_script import suite_script

        models = {
            name: Behaviour(success=share, steady=name in setting.scripted.steady)
            for name, share in setting.scripted.success.items()
        }
        script = suite_script(Path(config.suite.path), config.seed, models)
        server = held.enter_context(serve_script(ScriptedModel(script)))
        say("the model is SCRIPTED: it plays written turns, no model is asked and nothing is spent")
        return server.url, "scripted-no-key"
    if set(config.lanes) == {"frozen"}:
        return setting.upstream, environment.get(KEY_VARIABLE) or "replay-needs-no-key"
    key = environment.get(KEY_VARIABLE)
    if setting.key_file is None and not key:
        raise ConfigError(
            f"agents {', '.join(needs.speaking)} ask a model and there is no key; set {KEY_VARIABLE}, or model.key_file in the sweep file"
        )
    return setting.upstream, key
