"""Removes what a dead owner left in the engine: by its labels, never by a name.

What a living owner holds stays, whoever it is. Of an owner that cannot be judged from here (another host
or pid namespace) only the deadline speaks.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import docker.errors

from sandboxes.base import SandboxError
from sandboxes.docker_engine import Engine, engine_errors
from sandboxes.docker_sandbox import remove_container
from sandboxes.labels import ATTEMPT, OWNER, SWEEP, Owner, is_alive, labelled_cores, labelled_deadline

GRACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Reaped:
    """Ids of what was removed, and what is left because its owner lives or cannot be judged yet."""

    containers: tuple[str, ...] = ()
    networks: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.containers) + len(self.networks) + len(self.volumes)


def is_left_over(labels: Mapping[str, str], here: Owner, now: float, proc: str = "/proc") -> bool:
    """Whether nobody can want the thing with these labels any more.

    Its owner is dead, or cannot be judged and its deadline passed a minute ago. Without our owner label
    it is not ours.
    """
    if OWNER not in labels:
        return False
    alive = is_alive(Owner.decode(labels[OWNER]), here, proc)
    if alive is not None:
        return not alive
    deadline = labelled_deadline(labels)
    return deadline is not None and now > deadline + GRACE_S


def reap(engine: Engine, now: float | None = None, here: Owner | None = None) -> Reaped:
    """Remove containers, networks and volumes that were left over. `now` in seconds since the epoch."""
    here = here or Owner.current()
    moment = time.time() if now is None else now
    client = engine.client
    containers, kept = _reap_kind(
        _list(lambda: client.containers(all=True, filters={"label": OWNER}), "containers"),
        "Id",
        lambda key: remove_container(engine, key),
        here,
        moment,
    )
    networks, kept_networks = _reap_kind(
        _list(lambda: client.networks(filters={"label": OWNER}), "networks"),
        "Id",
        client.remove_network,
        here,
        moment,
    )
    volumes, kept_volumes = _reap_kind(
        _list(lambda: client.volumes(filters={"label": OWNER})["Volumes"], "volumes"),
        "Name",
        client.remove_volume,
        here,
        moment,
    )
    return Reaped(containers, networks, volumes, kept + kept_networks + kept_volumes)


def clear_own(engine: Engine, sweep_id: str, here: Owner | None = None) -> int:
    """Remove what this process made for attempts of a sweep and could not remove; returns how many things.

    For a process between two attempts: nothing of its own can be in use then. Raises SandboxError.
    """
    owner = (here or Owner.current()).encode()
    wanted = {"label": [f"{OWNER}={owner}", f"{SWEEP}={sweep_id}", ATTEMPT]}
    client = engine.client
    found = 0
    for item in _list(lambda: client.containers(all=True, filters=wanted), "containers"):
        remove_container(engine, item["Id"])
        found += 1
    for kind, listing, remove, key in (
        ("networks", lambda: client.networks(filters=wanted), client.remove_network, "Id"),
        ("volumes", lambda: client.volumes(filters=wanted)["Volumes"], client.remove_volume, "Name"),
    ):
        for item in _list(listing, kind):
            with engine_errors(f"remove {item[key][:12]} of the {kind} of an earlier attempt"):
                remove(item[key])
            found += 1
    return found


def clear_cores(engine: Engine, cores: frozenset[int], here: Owner | None = None) -> frozenset[int]:
    """Remove containers that dead holders left on cores; returns the cores where a living one remains.

    For whoever has just taken the locks of these cores: an owner that cannot be judged from here does not
    hold them, so its containers go too.
    """
    here = here or Owner.current()
    busy: set[int] = set()
    for item in _list(lambda: engine.client.containers(all=True, filters={"label": OWNER}), "containers"):
        shared = labelled_cores(item["Labels"]) & cores
        if not shared:
            continue
        if is_alive(Owner.decode(item["Labels"].get(OWNER)), here) and item["State"] == "running":
            busy |= shared
        else:
            remove_container(engine, item["Id"])
    return frozenset(busy)


def _list(call: Callable[[], Any], kind: str) -> list[dict[str, Any]]:
    with engine_errors(f"list {kind} with the label {OWNER}"):
        return list(call() or [])


def _reap_kind(
    items: list[dict[str, Any]], key: str, remove: Callable[[str], object], here: Owner, now: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(removed, kept) ids. What vanishes or refuses meanwhile is left for the next time."""
    removed, kept = [], []
    for item in items:
        if not is_left_over(item.get("Labels") or {}, here, now):
            kept.append(item[key])
            continue
        try:
            remove(item[key])
        except (SandboxError, docker.errors.APIError):
            kept.append(item[key])
        else:
            removed.append(item[key])
    return tuple(removed), tuple(kept)
