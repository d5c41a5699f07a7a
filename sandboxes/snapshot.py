"""The environment snapshot: constants of host and image, hashed; and host readings, never hashed. Pure.

Two content-addressed parts, so that thousands of trials share one id and a report can say which part
changed. What moves while a trial runs (load, steal, neighbours) is a reading and belongs on the row.
"""

import hashlib
import json
from dataclasses import asdict, dataclass


def content_id(fields: dict[str, object]) -> str:
    """16 hexadecimal digits of the sha256 of the fields as canonical JSON."""
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class HostSnapshot:
    """Constants of one host; None where the host does not tell."""

    kernel: str | None = None
    os: str | None = None
    architecture: str | None = None
    cpu_model: str | None = None
    cpu_count: int | None = None
    cpu_threads_per_core: int | None = None
    cpu_sockets: int | None = None
    memory_bytes: int | None = None
    governor: str | None = None
    turbo: bool | None = None
    aslr: int | None = None
    cgroup_version: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    runtime: str | None = None
    runtime_version: str | None = None
    storage_driver: str | None = None
    python: str | None = None
    ray: str | None = None
    passhat: str | None = None
    passhat_revision: str | None = None

    @property
    def host_id(self) -> str:
        return content_id(asdict(self))


@dataclass(frozen=True, slots=True)
class ImageSnapshot:
    """Which image was used.

    `digest` is its identity across hosts: the registry digest where it was pulled ("registry"), the
    digest of its recipe where it was built or bootstrapped here ("recipe"), else the engine's own id
    ("engine", known to this host only). `engine_id` stands beside it and is no identity across nodes.
    """

    reference: str
    digest: str
    digest_kind: str
    engine_id: str

    @property
    def image_key(self) -> str:
        return content_id({"digest": self.digest, "digest_kind": self.digest_kind})


@dataclass(frozen=True, slots=True)
class HostReadings:
    """What the host was doing at one moment; None where it does not tell."""

    load_1m: float | None = None
    steal_share: float | None = None
    frequency_mhz: float | None = None
    temperature_c: float | None = None
    neighbours: int | None = None


def snapshot_id(host: HostSnapshot, image: ImageSnapshot, beside: tuple[str, ...] = ()) -> str:
    """The id of host and image, and of the images of the services beside it (their keys): constants only."""
    others: dict[str, object] = {"beside": list(beside)} if beside else {}
    return content_id({"host": host.host_id, "image": image.image_key, **others})
