"""Joining or starting Ray, and what is said when that cannot be done."""

import os
import re
import socket
from typing import Any

import ray

DOCKER = "docker"
DOCKER_PER_NODE = 100_000
NAMESPACE = "passhat"
PROBE_S = 10.0
HOW = "start one with `ray start`, or leave --address out to use this machine"


def connect(address: str | None, cpus: int | None = None) -> None:
    """Join a Ray cluster, or start one on this machine when address is None.

    Ray's token authentication stays as Ray sets it: on. A process that has joined already stays where it is,
    so that several sweeps can follow each other in one. Raises ConnectionError with a sentence.
    """
    if ray.is_initialized():
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")
    if address is None:
        options |= {"address": "local", "num_cpus": cpus or os.cpu_count(), "resources": {DOCKER: DOCKER_PER_NODE}}
    else:
        options |= {"address": address, "namespace": NAMESPACE}
        options.pop("include_dashboard")
        _probe(os.environ.get("RAY_ADDRESS", address) if address == "auto" else address)
    try:
        ray.init(**options)
    except Exception as error:  # noqa: BLE001 - a start that takes too long is a bare Exception of Ray's
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if address is None:
            raise ConnectionError(
                f"Ray was to be started on this machine and did not come up: {first}; see what keeps the machine busy,"
                " and run the same command again"
            ) from None
        raise ConnectionError(f"no Ray cluster could be joined at {address}: {first}; {HOW}") from None


def _probe(address: str) -> None:
    """Ray tries an address for minutes before it gives up; a connection tells at once. Raises ConnectionError."""
    match = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+?)\]?:([0-9]{1,5})", address)
    if match is None:
        return
    try:
        socket.create_connection((match[1], int(match[2])), timeout=PROBE_S).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster could be joined at {address}: {error}; {HOW}") from None
