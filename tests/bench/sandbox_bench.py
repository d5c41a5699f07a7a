"""What a sandbox costs, and the floor below which no trial on this engine can go.

`python tests/bench/sandbox_bench.py [n] [concurrency]` prints medians in milliseconds.
"""

import itertools
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from docker import APIClient

from sandboxes.base import Command, FileEntry, ImageSource, SandboxRequest
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from sandboxes.docker_options import container_options
from sandboxes.resources import Placement, ResourceSpec
from sandboxes.snapshot import ImageSnapshot

STEPS = ("create", "start", "exec", "exec_again", "remove")
SPEC = ResourceSpec(memory_mb=256, memory_limit_mb=512, pinned=False)


def request_for(image: ImageSnapshot) -> SandboxRequest:
    labels = {"passhat.sweep": "bench", "passhat.attempt": "bench"}
    return SandboxRequest(image, SPEC, Placement(), labels, 300.0)


def floor(n: int, concurrency: int, request: SandboxRequest | None = None) -> dict[str, float]:
    """Medians in seconds of create, start, two execs and remove through the docker library alone.

    Same image and options as a sandbox has; `trial` is the median of their sum, `wall_per_trial` the
    wall time of all over n.
    """
    with DockerProvider() as provider:
        image = provider.ensure_image(ImageSource(reference=BASE_REFERENCE))
        options = container_options(request or request_for(image), {}, disk_limits=False)
        version = provider.engine.api_version
    clients = [APIClient(version=version, timeout=120) for _ in range(concurrency)]
    try:
        started = time.monotonic()
        with ThreadPoolExecutor(concurrency) as pool:
            futures = [
                pool.submit(_plain_trial, clients[worker], options)
                for worker in range(concurrency)
                for _ in range(-(-n // concurrency))
            ]
            rows = [future.result() for future in futures]
        wall_s = time.monotonic() - started
    finally:
        for client in clients:
            client.close()
    medians = {step: statistics.median(row[step] for row in rows) for step in STEPS}
    medians["trial"] = statistics.median(sum(row.values()) for row in rows)
    medians["wall_per_trial"] = wall_s / len(rows)
    return medians


def calls(n: int, **options: Any) -> dict[str, float]:
    """Medians in seconds of every call of a sandbox."""
    found: dict[str, list[float]] = {}

    def timed(name: str, call: Callable[[], Any]) -> Any:
        started = time.monotonic()
        result = call()
        found.setdefault(name, []).append(time.monotonic() - started)
        return result

    with DockerProvider(**options) as provider:
        image = provider.ensure_image(ImageSource(reference=BASE_REFERENCE))
        for _ in range(n):
            timed("ensure_image", lambda: provider.ensure_image(ImageSource(reference=BASE_REFERENCE)))
            timed("readings", provider.readings)
            _timed_sandbox(timed, provider, image)
    return {name: statistics.median(values) for name, values in found.items()}


def _timed_sandbox(timed: Callable[..., Any], provider: DockerProvider, image: ImageSnapshot) -> None:
    sandbox = timed("create and start", lambda: provider.create(request_for(image)))
    try:
        timed("put", lambda: sandbox.put([FileEntry("/logs/verifier"), FileEntry("/tests/test.sh", b"true\n")]))
        timed("exec", lambda: sandbox.exec(Command(("true",))))
        timed("exec", lambda: sandbox.exec(Command(("sh", "-c", "sleep 100 >/dev/null 2>&1 &"))))
        timed("kill_processes", sandbox.kill_processes)
        timed("processes", sandbox.processes)
        timed("get", lambda: sandbox.get("/tests"))
        timed("counters", sandbox.counters)
    finally:
        timed("remove", sandbox.remove)


def _plain_trial(client: APIClient, options: dict[str, Any]) -> dict[str, float]:
    times = [time.monotonic()]
    container = client.create_container_from_config(options)["Id"]
    times.append(time.monotonic())
    try:
        client.start(container)
        times.append(time.monotonic())
        for _ in range(2):
            exec_id = client.exec_create(container, ["true"])["Id"]
            client.exec_start(exec_id)
            client.exec_inspect(exec_id)
            times.append(time.monotonic())
    finally:
        client.remove_container(container, v=True, force=True)
    times.append(time.monotonic())
    return dict(zip(STEPS, (after - before for before, after in itertools.pairwise(times)), strict=True))


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    concurrency = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    for title, medians in (
        (f"floor, concurrency {concurrency}", floor(n, concurrency)),
        ("sandbox, seen from the host", calls(n)),
        ("sandbox, through the engine alone", calls(n, host_access=False)),
    ):
        print(title)
        for name, seconds in medians.items():
            print(f"  {name:20} {seconds * 1000:8.1f} ms")


if __name__ == "__main__":
    main()
