"""The sweep that is disturbed: half-second trials of which it is known how each must end."""

from pathlib import Path

from sandboxes.bootstrap import BASE_REFERENCE
from tests.builders import make_task
from tests.faults.model import MODEL

_HEAD = f"""[agent]
timeout_sec = 12.0
[verifier]
timeout_sec = {{timeout}}
[environment]
docker_image = "{BASE_REFERENCE}"
cpus = 1
memory_mb = 128
workdir = "/"
allow_internet = false
"""
_TEST = (
    "#!/bin/bash\nsleep 0.1\n[ -e /done ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n"
)
_SICK = {
    "grader hangs": ("sleep 600", "GRADER_TIMEOUT"),
    "grader exits 137 by itself": ("exit 137", "GRADER_ERROR"),
    "grader writes nothing": ("true", "GRADER_ERROR"),
    "grader writes NaN": ("echo NaN > /logs/verifier/reward.txt", "GRADER_ERROR"),
    "grader writes 2 MB of JSON": (
        "(echo '{\"reward\": 1, \"a\": \"'; head -c 2000000 /dev/zero | tr '\\0' a; echo '\"}') > /logs/verifier/reward.json",
        "GRADER_ERROR",
    ),
}
SICK_KINDS = {
    **{kind: status for kind, (_, status) in _SICK.items()},
    "image cannot be built": "IMAGE_ERROR",
    "health check never passes": "SANDBOX_ERROR",
}


def write_probe_suite(folder: Path, tasks: int = 2) -> Path:
    """Tasks that pass when the agent made /done, and fail otherwise."""
    for number in range(tasks):
        make_task(folder / f"probe-{number}", _HEAD.format(timeout="8.0"), {"tests/test.sh": _TEST})
    return folder


def write_sick_suite(folder: Path, kind: str) -> Path:
    """One task that can only end in the way that SICK_KINDS says."""
    head, files = _HEAD.format(timeout="1.0"), {}
    if kind in _SICK:
        files["tests/test.sh"] = f"#!/bin/bash\n{_SICK[kind][0]}\n"
    elif kind == "image cannot be built":
        head = "\n".join(line for line in head.splitlines() if "docker_image" not in line) + "\n"
        files["environment/Dockerfile"] = f"FROM {BASE_REFERENCE}\nRUN exit 3\n"
    else:
        head += '[environment.healthcheck]\ncommand = "false"\ninterval_sec = 0.1\ntimeout_sec = 1.0\nretries = 2\n'
    make_task(folder / "sick", head, files)
    return folder


def write_sweep(
    target: Path, suite: Path, results: Path, repeats: int, model_url: str, retries: int = 20, pinned: bool = False
) -> Path:
    """A sweep file: one arm that passes, one that fails, one that asks a model. `pinned`: on exclusive cores."""
    target.write_text(
        f"""name = "faults"
suite = "{suite}"
repeats = {repeats}
seed = 7
results = "{results}"
[retry]
max = {retries}
backoff_s = 0.05
[[agents]]
name = "passes"
kind = "command"
argv = ["/bin/bash", "-c", "sleep 0.5; touch /done"]
[[agents]]
name = "fails"
kind = "command"
argv = ["/bin/bash", "-c", "sleep 0.5"]
[[agents]]
name = "asks"
kind = "claude"
model = "{MODEL}"
[model]
upstream = "{model_url}"
[[resources]]
name = "1x"
pinned = {str(pinned).lower()}
""",
        encoding="utf-8",
    )
    return target
