"""The services beside the agent: their network, their start in order, their health, their end.

A service that ends, or does not become healthy in its time, is the place's failure (SidecarFailed), with
the end of its log. One that something waits for to complete may end with 0, and only then.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from orchestrator.execution.attempt import Attempt, Place
from sandboxes.base import Command, NetworkSpec, Sandbox, SandboxError, SandboxGoneError, SandboxRequest
from sandboxes.private_network import NetworkRequest, PrivateNetwork
from sandboxes.resources import Placement
from sandboxes.sidecar import Sidecar, SidecarRequest
from suites.artifacts import Taken, collect
from suites.task import Grading, Healthcheck, Service, Step, Task

POLL_S = 0.1
COMPLETE_S = 120.0
COMPLETED = "service_completed_successfully"
HEALTHY = "service_healthy"


class SidecarFailed(SandboxError):
    """A service ended or did not become healthy; the message ends with the end of its log."""


@dataclass(slots=True)
class Services:
    """The started services of one attempt, by name; `may_end` are those that are waited for to complete."""

    started: dict[str, Sidecar] = field(default_factory=dict)
    may_end: frozenset[str] = frozenset()

    def require(self) -> None:
        """Raise SidecarFailed for the first that does not run and should."""
        for name, sidecar in self.started.items():
            state = sidecar.state()
            if not state.running and not (name in self.may_end and state.exit_code == 0):
                code = "was removed" if state.exit_code is None else f"ended with {state.exit_code}"
                raise SidecarFailed(f"service {name} {code}; the end of its log:\n{sidecar.log()}")


@dataclass(frozen=True, slots=True)
class Ground:
    """Where one attempt happens: the agent's container and the services beside it."""

    main: Sandbox
    services: Services


def open_network(
    attempt: Attempt,
    place: Place,
    held: contextlib.ExitStack,
    labels: Mapping[str, str],
    deadline_s: float,
    wanted: NetworkSpec,
) -> PrivateNetwork:
    """A private network for as long as `held` lasts; what was tried on it is kept at its end."""
    with attempt.phases("network"):
        private = held.enter_context(place.provider.private_network(NetworkRequest(wanted, labels, deadline_s)))
    held.callback(_keep_tries, attempt, private)
    return private


def needs_network(task: Task) -> bool:
    """Whether the agent's container has a private network: for services, or to reach named hosts only."""
    return bool(task.services) or task.network.mode == "allowlist"


def main_env(task: Task, private: PrivateNetwork | None, gateway_host: str | None) -> dict[str, str]:
    """The variables of the agent's container."""
    direct = (*names_of(task), *((gateway_host,) if gateway_host else ()))
    return {**(private.env(direct) if private is not None else {}), **task.env}


def start_sidecars(
    attempt: Attempt,
    place: Place,
    private: PrivateNetwork | None,
    cores: tuple[int, ...],
    labels: Mapping[str, str],
    deadline_s: float,
    held: contextlib.ExitStack,
) -> Services:
    """Start every service after those it waits for; return when the agent's own conditions hold.

    Images are made ready before the first starts. Raises SidecarFailed, SandboxError, ImageError.
    """
    task = attempt.assignment.task
    waited = [*task.waits_for, *(pair for service in task.services for pair in service.depends_on)]
    services = Services(may_end=frozenset(name for name, condition in waited if condition == COMPLETED))
    if not task.services:
        return services
    assert private is not None
    with attempt.phases("image"):
        attempt.sidecar_images = {s.name: place.provider.ensure_image(s.image) for s in task.services}
    held.enter_context(_removed(attempt, services))
    healthy: set[str] = set()
    with attempt.phases("sidecars"):
        for service in task.services:
            _await(place, task, services, service.depends_on, healthy)
            request = SandboxRequest(
                image=attempt.sidecar_images[service.name],
                resources=attempt.assignment.sidecars[service.name],
                placement=Placement(cores),
                labels=labels,
                deadline_s=deadline_s,
                network=private.joined(task.network, service.aliases or (service.name,)),
                env={**private.env(names_of(task)), **service.env},
                capabilities=service.capabilities,
                read_only=service.read_only,
                tmpfs=service.tmpfs,
                runtime=attempt.assignment.runtime,
                hostname=service.hostname,
            )
            with place.start_turn():
                sidecar = place.provider.create_sidecar(SidecarRequest(service.name, request, service.program))
            services.started[service.name] = sidecar
        checked = [(s.name, HEALTHY) for s in task.services if s.healthcheck is not None]
        _await(place, task, services, (*task.waits_for, *checked), healthy)
        services.require()
    return services


def collect_all(ground: Ground, task: Task, step: Step, grading: Grading) -> Taken:
    """The collect hooks and artifacts of the agent's container, then of each service."""
    taken = [collect(ground.main, step, grading, service=name) for name in dict.fromkeys(("main", task.main_service))]
    for name, sidecar in ground.services.started.items():
        wanted = {*(a.service for a in step.artifacts), *(h.service for h in grading.collect)}
        if name in wanted:
            taken.append(collect(sidecar.sandbox, step, grading, service=name))
    return Taken(
        tuple(artifact for one in taken for artifact in one.artifacts),
        tuple(problem for one in taken for problem in one.problems),
    )


def patience_s(check: Healthcheck | None) -> float:
    """How long a service may take to become healthy, in seconds."""
    if check is None:
        return COMPLETE_S
    return check.start_period_s + (check.interval_s + check.timeout_s) * check.retries


def _await(
    place: Place, task: Task, services: Services, conditions: tuple[tuple[str, str], ...], healthy: set[str]
) -> None:
    """Wait until conditions hold. A check is asked again soon, and has as long as its retries would take."""
    known = {service.name: service for service in task.services}
    for name, condition in conditions:
        if name not in services.started:
            continue
        service, sidecar = known[name], services.started[name]
        if condition == COMPLETED:
            _poll(place, services, COMPLETE_S, partial(_has_ended, sidecar), f"service {name} did not end")
            services.require()
        elif condition == HEALTHY and name not in healthy:
            text = f"service {name} did not become healthy"
            limit_s = patience_s(service.healthcheck)
            _poll(place, services, limit_s, partial(_is_healthy, service, sidecar), text, sidecar)
            healthy.add(name)


def _has_ended(sidecar: Sidecar) -> bool:
    return not sidecar.state().running


def _is_healthy(service: Service, sidecar: Sidecar) -> bool:
    check = service.healthcheck
    assert check is not None
    command = Command(("/bin/sh", "-c", check.command), timeout_s=check.timeout_s, max_output_bytes=2_000)
    try:
        return sidecar.sandbox.exec(command).exit_code == 0
    except SandboxGoneError:
        return False


def _poll(
    place: Place,
    services: Services,
    limit_s: float,
    holds: Callable[[], bool],
    failed: str,
    sidecar: Sidecar | None = None,
) -> None:
    give_up = place.monotonic() + limit_s
    while not holds():
        services.require()
        if place.monotonic() > give_up:
            log = f"; the end of its log:\n{sidecar.log()}" if sidecar is not None else ""
            raise SidecarFailed(f"{failed} within {limit_s:.0f} s{log}")
        place.sleep(POLL_S)


@contextlib.contextmanager
def _removed(attempt: Attempt, services: Services) -> Iterator[None]:
    try:
        yield
    finally:
        with attempt.phases("remove"):
            for name, sidecar in services.started.items():
                with contextlib.suppress(SandboxError):
                    attempt.sidecar_counters[name] = sidecar.sandbox.counters()
            with contextlib.ExitStack() as all_of_them:
                for sidecar in services.started.values():
                    all_of_them.callback(sidecar.remove)


def _keep_tries(attempt: Attempt, private: PrivateNetwork) -> None:
    with contextlib.suppress(SandboxError):
        found = private.tries()
        attempt.tries += found
        for one in found:
            attempt.recorder.note("network", host=one.host, port=one.port, allowed=one.allowed, count=one.count)


def names_of(task: Task) -> tuple[str, ...]:
    """Every name on the private network."""
    own = task.main_aliases or (task.main_service,)
    return (*own, *(alias for service in task.services for alias in service.aliases))
