"""What a controller needs to start anywhere: config, gate and suite of a sweep, kept beside its plan.

`sweeps/<id>/bundle.json` names the packed suite by its content. Both are written before the controller is
started, and read again at each of its starts, so nothing is needed from the machine that submitted it.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.config import ConfigError, SweepConfig
from orchestrator.execution.freeze import VERSION, freeze
from orchestrator.execution.shipping import ShippingError, unpack
from orchestrator.storage.root import Root
from orchestrator.storage.sweeps import write_plan
from suites.loading import load_suite


@dataclass(frozen=True, slots=True)
class Bundle:
    """`config`: as JSON values; `gate`: the text of its policy; `suite`: packed."""

    config: Mapping[str, object]
    gate: str | None
    suite: bytes
    version: str = VERSION


@dataclass(frozen=True, slots=True)
class Deposited:
    sweep_id: str
    notices: tuple[str, ...]


def bundle_path(sweep_id: str) -> str:
    return f"sweeps/{sweep_id}/bundle.json"


def deposit(location: str, bundle: Bundle, cache: Path, make_way: Callable[[str], None]) -> Deposited:
    """Freeze the sweep and keep its bundle.

    `make_way` is told the sweep's id before anything is written, and raises where another controller reads what
    is there. Raises ConfigError, TaskError, ResultsError, ShippingError, OSError.
    """
    if bundle.version != VERSION:
        raise ShippingError(
            f"passhat {bundle.version} submits and the cluster has {VERSION}; install the same version on both"
        )
    root = Root(location)
    config = _config(bundle.config, location, unpack(bundle.suite, cache))
    frozen = freeze(config, load_suite(Path(config.suite.path)), root, datetime.now(UTC))
    sweep_id = frozen.plan.sweep_id
    make_way(sweep_id)
    name = f"sweeps/{sweep_id}/suite-{hashlib.sha256(bundle.suite).hexdigest()[:16]}.tar.zst"
    root.write(name, bundle.suite)
    write_plan(root, frozen.plan)
    fields = {"config": bundle.config, "gate": bundle.gate, "suite": name, "version": bundle.version}
    root.write(bundle_path(sweep_id), json.dumps(fields, allow_nan=False).encode())
    return Deposited(sweep_id, frozen.notices)


def fetch(root: Root, sweep_id: str, cache: Path) -> tuple[SweepConfig, Path | None]:
    """The config with this node's copy of the suite, and its gate's file. Raises ConfigError, OSError."""
    try:
        fields = json.loads(root.read(bundle_path(sweep_id)))
    except FileNotFoundError:
        raise ConfigError(f"{root.location} holds no submitted sweep {sweep_id}; `passhat submit` it") from None
    config = _config(fields["config"], root.location, unpack(root.read(fields["suite"]), cache))
    if fields["gate"] is None:
        return config, None
    gate = cache / f"gate-{sweep_id}.toml"
    gate.write_text(fields["gate"])
    return config, gate


def _config(fields: Mapping[str, object], location: str, suite: Path) -> SweepConfig:
    config = SweepConfig.model_validate(fields)
    selection = config.suite.model_copy(update={"path": str(suite)})
    return config.model_copy(update={"suite": selection, "results": location})
