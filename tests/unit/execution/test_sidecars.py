"""Services beside the agent, without an engine: their order, their ends, what is counted, what is removed."""

from dataclasses import replace

import pytest

from orchestrator.config import ResourceSetting
from orchestrator.core.resolve import promised, resolve_beside
from sandboxes.base import ImageSource
from sandboxes.fake import FakeProvider, FakeSidecar
from sandboxes.resources import ResourceSpec
from sandboxes.sidecar import SidecarState
from suites.task import Asked, Service
from tests.unit.execution.test_attempt import attempt, make_task

DB = Service("db", ImageSource(reference="db"), asked=Asked(0.5, 512))


def services(*given: Service, waits_for: tuple[tuple[str, str], ...] = ()) -> object:
    return make_task(services=given, waits_for=waits_for)


def ends(code: int, log: str = "") -> object:
    def on_sidecar(sidecar: FakeSidecar) -> None:
        sidecar.ended, sidecar.printed = SidecarState(False, code), log

    return on_sidecar


def run(provider: FakeProvider, *given: Service, waits_for: tuple[tuple[str, str], ...] = ()) -> dict[str, object]:
    specs = {service.name: ResourceSpec(cpus=0.5, memory_mb=512, pinned=False) for service in given}
    _, row = attempt(provider, task=services(*given, waits_for=waits_for), sidecars=specs)
    return row


@pytest.mark.parametrize(("code", "status"), [(0, "SANDBOX_ERROR"), (3, "SANDBOX_ERROR")])
def test_a_service_that_ends_is_infrastructure_with_the_end_of_its_log(code: int, status: str) -> None:
    provider = FakeProvider(keep=True, on_sidecar=ends(code, "disk is full"))
    row = run(provider, DB)
    assert (row["status"], row["failure_kind"]) == (status, "sidecar")
    assert f"service db ended with {code}; the end of its log:\ndisk is full" in str(row["failure_message"])


@pytest.mark.parametrize(("code", "kind"), [(0, None), (1, "sidecar")])
def test_one_that_is_waited_for_to_complete_may_end_with_nothing_but_0(code: int, kind: str | None) -> None:
    provider = FakeProvider(keep=True, on_sidecar=ends(code))
    row = run(provider, DB, waits_for=(("db", "service_completed_successfully"),))
    assert (row["failure_kind"] == "sidecar") == (kind == "sidecar")


def test_all_services_and_their_network_are_given_back_and_counted() -> None:
    provider = FakeProvider(keep=True)
    row = run(provider, DB, replace(DB, name="cache"))
    assert all(sidecar.sandbox.removed for sidecar in provider.sidecars)
    assert (len(provider.sidecars), provider.networks) == (2, 0)
    assert (row["requested_sidecar_cpus"], row["requested_sidecar_memory_bytes"]) == (1.0, 1024 << 20)
    assert [text.partition("=")[0] for text in row["sidecar_images"]] == ["cache", "db"]
    labels = {tuple(sorted(s.request.request.labels.items())) for s in provider.sidecars}
    assert labels == {tuple(sorted(provider.made[0].request.labels.items()))}


def test_the_images_of_services_are_part_of_the_environment_snapshot() -> None:
    rows = [run(FakeProvider(keep=True), replace(DB, image=ImageSource(reference=name))) for name in ("a", "a", "b")]
    assert rows[0]["snapshot_id"] == rows[1]["snapshot_id"] != rows[2]["snapshot_id"]


def test_a_trial_is_admitted_by_everything_it_runs() -> None:
    setting = ResourceSetting(name="r", headroom=3.0, memory_mb=4096)
    side = resolve_beside(Asked(0.5, 512), setting)
    assert (side.cpus, side.memory_mb, side.memory_limit_mb, side.cpus_limit) == (0.5, 512, 1536, 1.5)
    shared = promised(ResourceSpec(cpus=1.0, pinned=False, memory_mb=1024), [side, side])
    assert (shared.cpus, shared.memory_mb) == (2.0, 2048)
    assert promised(ResourceSpec(cpus=1.0, pinned=True), [side]).cpus == 2.0
