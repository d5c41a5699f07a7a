"""What deploy/ ships is what Ray, Kubernetes, systemd and compose accept, and says what passhat needs of a node."""

import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from ray.autoscaler._private.kuberay.autoscaling_config import _derive_autoscaling_config_from_ray_cr
from ray.autoscaler._private.util import prepare_config, validate_config

from orchestrator.execution.ray_connection import DOCKER
from orchestrator.execution.units import kubernetes_cronjob, systemd_units

DEPLOY = Path(__file__).parents[3] / "deploy"
VERSION = "1.33"


def load(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text())


def ray_cluster_of(name: str) -> dict[str, Any]:
    """The RayCluster's spec of a manifest, a job's own among them."""
    spec = load(name)["spec"]
    return dict(spec.get("rayClusterSpec", spec))


def check(resource: dict[str, Any]) -> None:
    """Against the schemas of Kubernetes, with unknown fields refused."""
    kubernetes_validate.validate(resource, VERSION, strict=True)


CLUSTERS = ("kubernetes/raycluster.yaml", "kubernetes/rayjob.yaml")


@pytest.mark.parametrize("name", CLUSTERS)
def test_each_group_of_a_ray_cluster_is_a_pod_that_kubernetes_takes(name: str) -> None:
    spec = ray_cluster_of(name)
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        check({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, **group["template"]})
    broken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": {"container": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        check(broken)


@pytest.mark.parametrize("name", CLUSTERS)
def test_rays_own_autoscaler_reads_the_groups_and_sees_the_engines(name: str) -> None:
    cluster = {"metadata": {"name": "passhat", "namespace": "default"}, "spec": ray_cluster_of(name)}
    types = _derive_autoscaling_config_from_ray_cr(cluster)["available_node_types"]
    sandboxes = types["sandboxes"]
    assert sandboxes["resources"][DOCKER] >= 100_000
    assert sandboxes["resources"]["CPU"] == 8
    assert sandboxes["resources"]["memory"] == 32 << 30
    assert sandboxes["max_workers"] > sandboxes["min_workers"] >= 1
    assert types["headgroup"]["resources"]["CPU"] == 0
    assert DOCKER not in types["headgroup"]["resources"]


@pytest.mark.parametrize("name", CLUSTERS)
def test_nobody_joins_without_a_token_and_the_engine_is_the_pods_own(name: str) -> None:
    spec = ray_cluster_of(name)
    assert spec["authOptions"] == {"mode": "token"}
    pod = spec["workerGroupSpecs"][0]["template"]["spec"]
    mounts = {c["name"]: {m["name"] for m in c["volumeMounts"]} for c in pod["containers"]}
    assert "engine" in mounts["ray-worker"] & mounts["engine"]
    privileged = [c["name"] for c in pod["containers"] if c.get("securityContext", {}).get("privileged")]
    assert privileged == ["engine"]
    paths = [volume["hostPath"]["path"] for volume in pod["volumes"] if "hostPath" in volume]
    assert paths == ["/var/tmp/passhat-locks"], "only the locks of cores are the machine's"


def test_the_job_has_the_cluster_of_the_cluster_manifest() -> None:
    alone, of_job = map(ray_cluster_of, CLUSTERS)
    assert of_job["workerGroupSpecs"] == alone["workerGroupSpecs"]


def test_waves_are_a_cron_job_that_kubernetes_takes() -> None:
    waves = load("kubernetes/waves.yaml")
    check(waves)
    assert waves["spec"]["concurrencyPolicy"] == "Forbid"


def test_the_cron_job_that_schedule_prints_is_one_that_kubernetes_takes() -> None:
    check(yaml.safe_load(kubernetes_cronjob("Five Days", Path("/srv/sweep.toml"))))


def test_rays_own_schema_takes_the_cluster_of_machines() -> None:
    config = load("ray/cluster.yaml")
    validate_config(prepare_config(config))
    commands = config["head_start_ray_commands"] + config["worker_start_ray_commands"]
    starts = [command for command in commands if "ray start" in command]
    assert len(starts) == 2
    for start in starts:
        assert "RAY_AUTH_MODE=token" in start
        assert f'{{"{DOCKER}": ' in start


@pytest.mark.parametrize("source", ["head", "worker", "schedule"])
def test_systemd_takes_the_units(tmp_path: Path, source: str) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd-analyze is not here: apt-get install systemd")
    if source == "schedule":
        (tmp_path / "sweep.toml").touch()
        text = systemd_units("five", tmp_path / "sweep.toml")
        parts = re.split(r"^# /etc/systemd/system/(\S+)\n", text, flags=re.M)
        units = dict(zip(parts[1::2], parts[2::2], strict=True))
    else:
        name = f"passhat-ray-{source}.service"
        text = (DEPLOY / "systemd" / name).read_text()
        assert "RAY_AUTH_MODE=token" in text
        units = {name: text.replace("/opt/passhat/bin/ray", "/bin/true")}
    (tmp_path / "docker.service").write_text("[Service]\nExecStart=/bin/true\n")
    for name, text in units.items():
        (tmp_path / name).write_text(text)
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:/lib/systemd/system"}
    for name in units:
        done = subprocess.run(
            [tool, "verify", str(tmp_path / name)], env=environment, capture_output=True, text=True, check=False
        )
        about = [line for line in done.stderr.splitlines() if "passhat" in line]
        assert (done.returncode, about) == (0, []), done.stderr


def test_compose_takes_the_three_nodes_and_opens_no_port(tmp_path: Path) -> None:
    (tmp_path / "token").touch()
    tool = Path(sysconfig.get_path("scripts"), "docker-compose")
    done = subprocess.run(
        [str(tool), "--file", str(DEPLOY / "compose.yaml"), "config", "--format", "json"],
        env={**os.environ, "PASSHAT_TOKEN": str(tmp_path / "token")},
        capture_output=True,
        text=True,
        check=True,
    )
    services = yaml.safe_load(done.stdout)["services"]
    assert set(services) == {"head", "worker-1", "worker-2"}
    for service in services.values():
        assert "ports" not in service
        assert not service.get("privileged")
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
        assert f'{{"{DOCKER}": 100000}}' in service["command"][-1]
        mounted = {volume["target"] for volume in service["volumes"]}
        assert {"/var/run/docker.sock", "/var/tmp/passhat-locks", "/results"} <= mounted
