"""Starts the way to models for one run: the gateway, and a scripted model in the API's place where asked.

The key goes from the environment, or a file, to the gateway's process and nowhere else. Which mode an
attempt has follows from its lane: live (recorded where the sweep says so) or frozen (replayed, never live).
The API's library takes more than a second to load, so it is loaded only where a model is asked. A tape is named by what it was recorded from (agent, task, repeat), so that a later frozen trial finds it.
"""

import contextlib
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.agents.base import ModelEndpoint, ModelUsage
from orchestrator.agents.settings import AgentDeps, build_agent
from orchestrator.config import ConfigError, SweepConfig
from orchestrator.execution.assignment import Assignment
from orchestrator.execution.freeze import Frozen
from orchestrator.models.gateway import Gateway, GatewayConfig, GatewayError, GatewayHandle
from orchestrator.models.judging import JudgeSettings
from orchestrator.models.recording import tape_name
from orchestrator.models.script import Behaviour
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import usage_folder
from sandboxes.closed_network import closed_network
from sandboxes.docker import DockerProvider
from suites.judging import Judge

KEY_VARIABLE = "ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """What workers need to let attempts speak; may be pickled, holds no key."""

    handle: GatewayHandle
    record: bool = False
    attempt_budget_usd: float | None = None
    closed_network: str | None = None
    judge_settings: JudgeSettings | None = None

    def judge(self, assignment: Assignment) -> Judge | None:
        """What asks the judge's model for one attempt, under a name of its own at the gateway."""
        settings = self.judge_settings
        if settings is None:
            return None
        from orchestrator.models.client import Clock, Meter, ModelClient, RetryPolicy
        from orchestrator.models.judge import make_judge
        from orchestrator.models.prices import builtin_prices

        asker = f"{assignment.attempt_id}-judge"

        def connect(model: str) -> ModelClient:
            with contextlib.suppress(GatewayError):
                self.handle.close(asker)
            endpoint = self.handle.register(asker)
            clock = Clock(time.monotonic, time.sleep)
            return ModelClient(endpoint, RetryPolicy(), Meter(builtin_prices(), model), clock)

        return make_judge(connect, settings)

    def endpoint(self, assignment: Assignment) -> ModelEndpoint:
        """Register an attempt. Raises GatewayError."""
        mode, tape = "live", None
        if assignment.job.trial.arm.lane == "frozen":
            mode, tape = "replay", tape_of(assignment)
        elif self.record:
            mode, tape = "record", tape_of(assignment)
        return self.handle.register(
            assignment.attempt_id,
            mode=mode,
            tape=tape,
            budget_usd=self.attempt_budget_usd,
            in_container=assignment.agent.kind == "command",
        )

    def usage(self, attempt_id: str) -> ModelUsage | None:
        """Close an attempt and say what it used; None when it never spoke."""
        try:
            return self.handle.close(attempt_id)
        except GatewayError:
            return None


def tape_of(assignment: Assignment) -> str:
    """The tape of a trial: the same in every lane and wave."""
    trial = assignment.job.trial
    digest = str(assignment.columns["agent_digest"])
    return tape_name(assignment.task.digest, digest, trial.repeat, trial.arm.resources)


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
def open_models(
    frozen: Frozen, root: Root, environment: Mapping[str, str], say: Callable[[str], None]
) -> Iterator[ModelAccess | None]:
    """The way to models for as long as a run lasts; None when no agent asks one. Raises ConfigError."""
    config = frozen.config
    deps = AgentDeps(host_env=environment)
    speaking = [a for a in frozen.agents.values() if build_agent(a, deps).needs_model]
    judged = config.model.judge is not None
    if not speaking and not judged:
        yield None
        return
    check_frozen_lane(frozen, root)
    with ExitStack() as held:
        upstream, key = _upstream(frozen, [a.name for a in speaking], environment, held, say)
        closed = None
        if any(agent.kind == "command" for agent in speaking):
            provider = held.enter_context(DockerProvider.from_environment(environment))
            closed = held.enter_context(closed_network(provider.engine, frozen.plan.sweep_id))
        setting = config.model
        needs_tapes = setting.record or "frozen" in config.lanes
        usage_log = usage_folder(root, frozen.plan.sweep_id) / f"{secrets.token_hex(8)}.jsonl"
        gateway = Gateway(
            GatewayConfig(
                host=closed.host if closed else "127.0.0.1",
                container_host=closed.host if closed else None,
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
        name = closed.name if closed else None
        chosen = setting.judge
        judge = JudgeSettings(chosen.model, chosen.max_tokens, chosen.temperature) if chosen else None
        yield ModelAccess(gateway.start(), setting.record, setting.attempt_budget_usd, name, judge)
    usage_log.unlink(missing_ok=True)  # not after an exception: rows may lack what only this file tells


def _upstream(
    frozen: Frozen, names: list[str], environment: Mapping[str, str], held: ExitStack, say: Callable[[str], None]
) -> tuple[str, str | None]:
    """The API's address, and its key where it is not in a file."""
    setting = frozen.config.model
    if setting.scripted is not None:
        from orchestrator.models.script_server import ScriptedModel, serve_script
        from orchestrator.models.suite_script import suite_script

        models = {
            name: Behaviour(success=share, steady=name in setting.scripted.steady)
            for name, share in setting.scripted.success.items()
        }
        script = suite_script(Path(frozen.config.suite.path), frozen.config.seed, models)
        server = held.enter_context(serve_script(ScriptedModel(script)))
        say("the model is SCRIPTED: it plays written turns, no model is asked and nothing is spent")
        return server.url, "scripted-no-key"
    if "frozen" in frozen.config.lanes and set(frozen.config.lanes) == {"frozen"}:
        return setting.upstream, environment.get(KEY_VARIABLE) or "replay-needs-no-key"
    key = environment.get(KEY_VARIABLE)
    if setting.key_file is None and not key:
        raise ConfigError(
            f"agents {', '.join(names)} ask a model and there is no key; set {KEY_VARIABLE}, or model.key_file in the sweep file"
        )
    return setting.upstream, key
