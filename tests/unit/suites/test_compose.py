"""A compose file: what becomes of it, and what is refused by name."""

from pathlib import Path

import pytest

from suites.errors import TaskError
from suites.loading import load_task
from suites.task import Task
from tests.builders import make_task

TOML = '[environment]\ndocker_image = "agent:1"\n'


def loaded(folder: Path, compose: str, toml: str = TOML, **files: str) -> Task:
    return load_task(make_task(folder, toml, {"environment/docker-compose.yaml": compose, **files}), {})[0]


def with_db(lines: str, main: str = "{}") -> str:
    return f"services:\n  main: {main}\n  db:\n    image: db:1\n" + "".join(f"    {x}\n" for x in lines.split("\n"))


def test_every_supported_key_reaches_the_service(tmp_path: Path) -> None:
    compose = with_db(
        "environment: {A: $X, B: $$X, C: '${NO:-c}', D: 3, E: true}\nentrypoint: /run.sh --fast\ncommand: [serve, '8']\n"
        "user: 1000\nworking_dir: /srv\ntmpfs: [/run, '/cache:size=5m']\nhostname: store\nread_only: true\nshm_size: 128m\n"
        "networks: {default: {aliases: [other]}}\nmem_limit: 1g\ncpus: 1.5\npids_limit: 50\ncap_add: [CAP_NET_RAW]\n"
        "healthcheck: {test: [CMD, ask, 'a b'], interval: 1m30s, timeout: 500ms, retries: 7, start_period: 2s}",
        main="{environment: [Y=1], depends_on: {db: {condition: service_healthy}}, command: [sleep, infinity]}",
    )
    task = loaded(tmp_path, compose, TOML + 'env = {X = "x"}\n[passhat]\ncapabilities = ["NET_RAW"]\n')
    (db,) = task.services
    assert (task.env, task.waits_for) == ({"Y": "1", "X": "x"}, (("db", "service_healthy"),))
    assert db.env == {"A": "x", "B": "$X", "C": "c", "D": "3", "E": "true"}
    assert (db.program.entrypoint, db.program.command) == (("/run.sh", "--fast"), ("serve", "8"))
    assert (db.program.user, db.program.workdir, db.hostname, db.read_only) == ("1000", "/srv", "store", True)
    assert (db.tmpfs, db.aliases, db.capabilities) == (("/run", "/cache"), ("db", "store", "other"), ("CAP_NET_RAW",))
    assert (db.asked.cpus, db.asked.memory_mb, db.asked.shm_mb, db.asked.pids) == (1.5, 1024, 128, 50)
    check = db.healthcheck
    assert check is not None
    assert (check.command, check.interval_s, check.timeout_s, check.start_period_s, check.retries) == (
        *("ask 'a b'", 90.0, 0.5, 2.0, 7),
    )


def test_services_start_after_those_they_wait_for(tmp_path: Path) -> None:
    more = "  first: {image: 'a:1'}\n  last: {image: 'a:1', depends_on: [db]}\n"
    task = loaded(tmp_path, with_db("depends_on: [first]") + more)
    assert [service.name for service in task.services] == ["first", "db", "last"]


def test_a_service_is_built_from_a_folder_of_its_own(tmp_path: Path) -> None:
    compose = "services:\n  main: {}\n  db: {build: {context: ./db, args: {A: 1}}}\n"
    task = loaded(tmp_path, compose, **{"environment/db/Dockerfile": "FROM scratch\n"})
    (db,) = task.services
    assert (db.image.dockerfile_dir, db.image.build_args) == (str(tmp_path / "environment" / "db"), {"A": "1"})


def test_mounts_of_the_log_folders_and_the_usual_variables_pass(tmp_path: Path) -> None:
    main = (
        "{image: '${MAIN_IMAGE_NAME}', volumes: ['${HOST_VERIFIER_LOGS_PATH}:${ENV_VERIFIER_LOGS_PATH}'],"
        " deploy: {resources: {limits: {cpus: '${CPUS}', memory: '${MEMORY}'}}}, command: [sh, -c, sleep infinity]}"
    )
    assert [service.name for service in loaded(tmp_path, with_db("expose: [1]", main)).services] == ["db"]


REFUSED = {
    "privileged: true": "privileged",
    "network_mode: host": "network_mode",
    "ports: ['80:80']": "ports",
    "pid: host": "pid",
    "ipc: host": "ipc",
    "devices: [/dev/kvm]": "devices",
    "volumes: ['/:/host']": "volumes",
    "volumes: ['${HOST_VERIFIER_LOGS_PATH}:/x']": "volumes",
    "cap_add: [SYS_ADMIN]": "cap_add",
    "security_opt: [seccomp:unconfined]": "security_opt",
    "networks: [back]": "networks",
    "userns_mode: host": "userns_mode",
    "environment: [SECRET_OF_THE_HOST]\nenv_file: x": "env_file",
    "environment: {SECRET: null}": "SECRET",
    "command: $NOT_SAID": "NOT_SAID",
    "depends_on: [nobody]": "wait for each other",
    "depends_on: {main: {condition: service_healthy}}": "healthcheck",
    "healthcheck: {test: [x], interval: 5}": "healthcheck",
    "healthcheck: {test: x, interval: soon}": "interval",
    "build: ../..": "context",
    "build: {context: ., dockerfile: Other}": "dockerfile",
    "build: {context: ., ssh: default}": "ssh",
    "cpus: many": "cpus",
}


@pytest.mark.parametrize(("lines", "named"), REFUSED.items())
def test_what_is_unsafe_or_unknown_is_refused_in_one_sentence(tmp_path: Path, lines: str, named: str) -> None:
    with pytest.raises(TaskError) as raised:
        loaded(tmp_path, with_db(lines))
    assert named in str(raised.value)
    assert "docker-compose.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_program_in_the_agents_container_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="run this in a service of its own"):
        loaded(tmp_path, with_db("expose: [1]", "{command: python3 -m http.server}"))


@pytest.mark.parametrize("toml", [TOML, 'artifacts = [{source = "/a", service = "cache"}]\n' + TOML])
def test_an_artifact_of_a_service_that_is_not_there_is_refused(tmp_path: Path, toml: str) -> None:
    more = '[[verifier.collect]]\ncommand = "true"\nservice = "cache"\n'
    with pytest.raises(TaskError, match="'cache': there is only db, main"):
        loaded(tmp_path, with_db("expose: [1]"), toml + more)
