"""The way to models as workers have it, and how a run opens it: on one machine, or for the nodes of a cluster.

Which mode an attempt has follows from its lane: live (recorded where the sweep says so) or frozen (replayed,
never live). The API's library takes more than a second to load, so it is loaded only where a model is asked. A
tape is named by what it was recorded from (agent, task, repeat), so that a later frozen trial finds it.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from orchestrator.agents.base import ModelEndpoint, ModelUsage
from orchestrator.execution.assignment import Assignment
from orchestrator.execution.freeze import Frozen
from orchestrator.models.gateway import GatewayError, GatewayHandle
from orchestrator.models.judging import JudgeSettings
from orchestrator.models.recording import tape_name
from orchestrator.storage.root import Root
from suites.judging import Judge

if TYPE_CHECKING:
    from orchestrator.execution.ray_workers import Outliving


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """What workers need to let attempts speak; may be pickled, holds no key.

    `closed_network`: of the engine here, from which containers reach the gateway; `doors`: each node has to open
    one of its own.
    """

    handle: GatewayHandle
    sweep_id: str
    record: bool = False
    attempt_budget_usd: float | None = None
    closed_network: str | None = None
    doors: bool = False
    judge_settings: JudgeSettings | None = None

    def through(self, network: str, url: str) -> "ModelAccess":
        """As containers of one node have it, through the door of that node."""
        return replace(self, handle=self.handle.seen_as(url), closed_network=network)

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


@contextmanager
def open_models(
    frozen: Frozen,
    root: Root,
    environment: Mapping[str, str],
    say: Callable[[str], None],
    address: str | None = None,
    outliving: "Outliving | None" = None,
) -> Iterator[ModelAccess | None]:
    """The way to models for as long as a run lasts; None when no agent asks one.

    `address`: of the Ray cluster whose nodes ask. `outliving`: the gateway outlives this process then, too.
    Raises ConfigError, GatewayError, SandboxError, ConnectionError.
    """
    from orchestrator.execution.model_service import model_needs, serve_models

    needs = model_needs(frozen, root, environment)
    if needs is None:
        yield None
    elif address is None:
        with serve_models(needs, environment, say) as access:
            yield access
    else:
        from orchestrator.execution.model_cluster import serve_in_cluster

        with serve_in_cluster(needs, environment, say, address, outliving) as access:
            yield access
