"""The seam between the driver and the machines: ask for workers, give them attempts, hear what became of it.

Implementations: RayCluster (real) and InlineCluster (this process, for tests and for orchestration alone).
Both pass the same contract tests. A worker is named by the number the dispatcher gave it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.core.dispatch import Shape
from orchestrator.execution.assignment import Assignment, Outcome


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the nodes with an engine have in all, and the largest of them."""

    cpus: float
    memory_mb: float
    gpus: float
    largest_cpus: float
    largest_memory_mb: float
    largest_gpus: float
    nodes: int

    def misfit(self, shape: Shape) -> str | None:
        """Why no node can take a trial of this shape, or None."""
        wants = (
            (shape.cpus, self.largest_cpus, "cores"),
            (shape.memory_mb, self.largest_memory_mb, "MiB of memory"),
            (shape.gpus, self.largest_gpus, "GPUs"),
        )
        for asked, there, unit in wants:
            if asked > there + 1e-9:
                return (
                    f"{asked:g} {unit} were promised and the largest node has {there:.0f};"
                    " lower the task's or the setting's promise, or add a larger node"
                )
        return None


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """`leaving`: its node is being drained and takes nothing new, so the worker is to be retired."""

    worker: int
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """`leaving`: as in WorkerReady."""

    worker: int
    outcome: Outcome
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """`message`: what is known of why. The attempt it had, if any, is lost."""

    worker: int
    message: str


@dataclass(frozen=True, slots=True)
class Adopted:
    """A worker that outlived its controller. `begun`: the attempt it has under way, as the journal knows it;
    AttemptEnded or WorkerDied follows for it. `finished`: outcomes that nobody may have recorded."""

    worker: int
    begun: Mapping[str, object] | None
    finished: tuple[tuple[Mapping[str, object], Outcome], ...] = ()


Event = WorkerReady | AttemptEnded | WorkerDied


class Cluster(Protocol):
    """Not safe for several threads."""

    def capacity(self) -> Capacity:
        """What there is now for new trials; nodes may come and go, and one that is being drained takes none."""
        ...

    def spawn(self, worker: int, shape: Shape) -> None:
        """Ask for a worker; WorkerReady or WorkerDied follows, some time."""
        ...

    def start(self, worker: int, assignment: Assignment) -> None:
        """Give a ready worker an attempt; AttemptEnded or WorkerDied follows."""
        ...

    def retire(self, worker: int) -> None:
        """End a worker that has no attempt; no event follows."""
        ...

    def adopt(self) -> list[Adopted]:
        """Workers of this sweep that an earlier controller left; to be asked for before anything else."""
        ...

    def durable(self, attempts: Sequence[str]) -> None:
        """The rows of these attempts are durable: nobody need keep their outcomes."""
        ...

    def leave(self) -> None:
        """Let go of the cluster as a controller that dies would: workers that can outlive it go on."""
        ...

    def poll(self, timeout_s: float) -> list[Event]:
        """What happened; waits up to timeout_s for the first event."""
        ...

    def reap(self) -> int:
        """Remove what dead owners left on every node that can be reached; returns how many containers."""
        ...

    def close(self) -> None:
        """End all workers, whatever they do, and let go of the cluster."""
        ...
