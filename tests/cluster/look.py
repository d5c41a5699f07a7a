"""Run inside a node: what Ray and the engine look like from there, as one JSON object on the last line."""

import json
import os

import ray

from sandboxes.base import Command, ImageSource, SandboxRequest
from sandboxes.bootstrap import BASE_REFERENCE
from sandboxes.docker import DockerProvider
from sandboxes.host_view import HostView
from sandboxes.resources import Placement, ResourceSpec


def main() -> None:
    ray.init(address="auto", log_to_driver=False, logging_level="ERROR")
    nodes = sorted((n["NodeManagerHostname"], n["NodeID"]) for n in ray.nodes() if n["Alive"])
    with DockerProvider.from_environment(os.environ) as provider:
        image = provider.ensure_image(ImageSource(reference=BASE_REFERENCE))
        request = SandboxRequest(image, ResourceSpec(cpus=0.2, memory_mb=128), Placement(), {}, deadline_s=120)
        sandbox = provider.create(request)
        try:
            view = HostView.open(provider.engine.inspect(sandbox.sandbox_id)["State"]["Pid"], sandbox.sandbox_id)
            sandbox.exec(Command(("/bin/sh", "-c", "setsid sleep 60 >/dev/null 2>&1 &"), timeout_s=30))
            found = {
                "nodes": nodes,
                "may_enter": view is not None and view.may_enter,
                "may_kill": view is not None and view.may_kill,
                "killed": sandbox.kill_processes(),
                "peak_bytes": sandbox.counters().memory_peak_bytes,
            }
        finally:
            sandbox.remove()
    print(json.dumps(found))


main()
