"""A folder becomes a task with every field at its place, or one sentence that names file and key."""

from pathlib import Path

import pytest

from suites.errors import TaskError
from suites.loading import load_suite, load_task
from tests.builders import IMAGE, make_task

PROBES = Path(__file__).parents[2] / "data" / "harbor-tasks"

FULL = """
schema_version = "1.4"
source = "somewhere"
artifacts = ["/out", {source = "log.txt", destination = "/kept/log.txt", exclude = ["*.tmp"]}]
[task]
name = "org/full"
version = "3"
keywords = ["a"]
[metadata]
difficulty = "hard"
tags = ["b", "c"]
[agent]
timeout_sec = 30
user = "1000"
[verifier]
timeout_sec = 20.5
user = "root"
env = {KEY = "${KEY}", MODE = "${MODE:-fast}"}
[[verifier.collect]]
command = "true"
[environment]
docker_image = "img:1"
cpus = 0.5
memory = "2G"
storage_mb = 100
gpus = 1
network_mode = "allowlist"
allowed_hosts = ["example.org"]
env = {A = "1"}
workdir = "/srv"
[environment.healthcheck]
command = "true"
retries = 5
"""


def test_every_field_is_at_its_place(tmp_path: Path) -> None:
    task, warnings = load_task(make_task(tmp_path, FULL), {"KEY": "k"})
    (step,) = task.steps
    assert warnings == []
    assert (task.name, task.version, task.source) == ("org/full", "3", "somewhere")
    assert (task.difficulty, task.tags) == ("hard", ("b", "c"))
    assert (task.asked.cpus, task.asked.memory_mb, task.asked.storage_mb, task.asked.gpus) == (0.5, 2048, 100, 1)
    assert (task.network.mode, task.network.allowed_hosts) == ("allowlist", ("example.org",))
    assert (task.env, task.workdir, task.image.reference) == ({"A": "1"}, "/srv", "img:1")
    assert task.healthcheck is not None
    assert (task.healthcheck.retries, task.healthcheck.interval_s) == (5, 5.0)
    assert (step.agent_timeout_s, step.agent_user, step.solution_dir) == (30, "1000", tmp_path / "solution")
    assert [(a.source, a.destination) for a in step.artifacts] == [("/out", None), ("/srv/log.txt", "/kept/log.txt")]
    assert step.grading.env == {"KEY": "k", "MODE": "fast"}
    assert (step.grading.timeout_s, step.grading.user, step.grading.mode) == (20.5, "root", "shared")
    assert step.grading.collect[0].timeout_s == 60.0


def test_defaults_are_those_of_the_format(tmp_path: Path) -> None:
    task, _ = load_task(make_task(tmp_path / "plain"), {})
    grading = task.steps[0].grading
    assert (task.name, task.network.mode, task.steps[0].agent_timeout_s) == ("plain", "public", None)
    assert (grading.timeout_s, grading.mode, grading.graders[0].kind, grading.image_env) == (
        600.0,
        "shared",
        "reward",
        True,
    )


def test_a_task_of_ours_has_no_network_and_a_clean_environment_unless_it_says_so(tmp_path: Path) -> None:
    task, _ = load_task(make_task(tmp_path, IMAGE + "[passhat]\n"), {})
    assert (task.network.mode, task.steps[0].grading.image_env) == ("none", False)


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("x = = 1", "not TOML"),
        ("[environment]\ncpus = nan\n", "environment.cpus"),
        ("[environment]\ncpus = -1\n", "environment.cpus"),
        ("[environment]\nmemory_mb = 0\n", "environment.memory_mb"),
        ('[environment]\nmemory_mb = "12"\n', "environment.memory_mb"),
        ('[environment]\nmemory = "many"\n', "environment.memory"),
        ('[environment]\nmemory = "1G"\nmemory_mb = 12\n', "environment.memory"),
        ('[environment]\nos = "windows"\n', "environment.os"),
        ('[environment]\ngpu_types = ["h100"]\n', "environment.gpu_types"),
        ("[environment]\nmcp_servers = [{name = 'a'}]\n", "environment.mcp_servers"),
        ('[environment]\nskills_dir = "s"\n', "environment.skills_dir"),
        ('[environment]\nnetwork_mode = "allowlist"\n', "environment.network_mode"),
        ('[environment]\nallowed_hosts = ["a"]\n', "environment.allowed_hosts"),
        ('[environment]\nnetwork_mode = "allowlist"\nallowed_hosts = ["http://a"]\n', "environment.allowed_hosts"),
        ('[environment]\nnetwork_mode = "public"\nallow_internet = false\n', "environment.allow_internet"),
        ("[agent]\ntimeout_sec = inf\n", "agent.timeout_sec"),
        ('[verifier]\nenv = {A = "${NOT_SET}"}\n', "NOT_SET"),
        ('[verifier]\nnetwork_mode = "no-network"\n', "verifier.network_mode"),
        ("[verifier.environment]\ncpus = 1\n[passhat]\ngrading = 'shared'\n", "verifier.environment"),
        ('schema_version = "2.0"\n', "schema_version"),
        ('artifacts = ["../x"]\n', "artifacts.source"),
        ("[passhat]\nclutser = 'a'\n", "passhat.clutser"),
        ("[passhat]\ngrading = 'separate'\n", "artifacts"),
        ("[passhat]\nwheels = 'no.txt'\n", "environment/Dockerfile"),
        ("[[passhat.graders]]\nkind = 'tests'\nfail_to_pass = []\n", "fail_to_pass"),
        ("[[passhat.graders]]\nkind = 'exact'\nform = 'number'\nexpected = 'three'\n", "no number"),
        ("[[passhat.graders]]\nkind = 'magic'\n", "magic"),
        ("[[steps]]\nname = 'a/b'\n", "steps[0].name"),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path: Path, toml: str, named: str) -> None:
    folder = make_task(tmp_path, toml if "wheels" in toml else _with_image(toml))
    with pytest.raises(TaskError) as refused:
        load_task(folder, {})
    assert named in str(refused.value)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


def _with_image(toml: str) -> str:
    image = 'docker_image = "i:1"\n'
    if "[environment]\n" in toml:
        return toml.replace("[environment]\n", "[environment]\n" + image)
    return toml + "\n[environment]\n" + image


@pytest.mark.parametrize("missing", ["instruction.md", "tests/test.sh"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    with pytest.raises(TaskError, match=missing):
        load_task(make_task(tmp_path, files={missing: None}), {})


def test_a_link_out_of_the_task_is_refused_and_one_inside_is_not(tmp_path: Path) -> None:
    folder = make_task(tmp_path / "t")
    (folder / "tests" / "inside").symlink_to("test.sh")
    load_task(folder, {})
    (folder / "tests" / "outside").symlink_to("/etc/passwd")
    with pytest.raises(TaskError, match="leads out"):
        load_task(folder, {})


def test_unknown_keys_of_the_shared_format_warn_once(tmp_path: Path) -> None:
    _, warnings = load_task(make_task(tmp_path, IMAGE + "new = 1\n[agent]\nnewer = 2\n"), {})
    (warning,) = warnings
    assert "environment.new" in warning
    assert "agent.newer" in warning


def test_leading_canary_lines_are_dropped(tmp_path: Path) -> None:
    text = "<!-- CANARY 123 -->\n# benchmark canary\n\n\nDo it.\n# canary stays\n"
    task, _ = load_task(make_task(tmp_path, files={"instruction.md": text}), {})
    assert task.steps[0].instruction == "Do it.\n# canary stays\n"


def test_a_missing_variable_of_the_solution_costs_only_the_oracle(tmp_path: Path) -> None:
    task, warnings = load_task(make_task(tmp_path, IMAGE + '[solution]\nenv = {A = "${NOPE}"}\n'), {})
    assert task.solution_env == {}
    assert "oracle" in warnings[0]


def test_a_bad_task_never_stops_its_siblings(tmp_path: Path) -> None:
    make_task(tmp_path / "good")
    make_task(tmp_path / "bad", "x = = 1")
    make_task(tmp_path / "twin", IMAGE + '[task]\nname = "good"\n')
    suite = load_suite(tmp_path)
    assert [task.name for task in suite.tasks] == ["good"]
    assert [name for name, _ in suite.refused] == ["bad", "twin"]


def test_one_task_folder_is_a_suite_and_suite_toml_names_it(tmp_path: Path) -> None:
    folder = make_task(tmp_path / "alone")
    (folder / "suite.toml").write_text('name = "n"\nversion = "7"\nlicence = "MIT"\n')
    suite = load_suite(folder)
    assert (suite.name, suite.version, suite.licence, len(suite.tasks)) == ("n", "7", "MIT", 1)
    (folder / "suite.toml").write_text('check_headroom = "uncapped"\n')
    assert load_suite(folder).check_headroom == "uncapped"
    (folder / "suite.toml").write_text("check_headroom = 0.5\n")
    with pytest.raises(TaskError, match="check_headroom"):
        load_suite(folder)
    (folder / "suite.toml").write_text("nmae = 1\n")
    with pytest.raises(TaskError, match="nmae"):
        load_suite(folder)


def test_no_folder_and_no_task_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no folder"):
        load_suite(tmp_path / "none")
    with pytest.raises(TaskError, match="no task"):
        load_suite(tmp_path)


def test_a_separate_grader_with_its_own_dockerfile_resources_and_network(tmp_path: Path) -> None:
    toml = IMAGE + 'workdir = "/w"\n[verifier.environment]\nmemory_mb = 99\nallow_internet = false\n'
    folder = make_task(tmp_path, 'artifacts = ["a"]\n' + toml, {"tests/Dockerfile": "FROM x\n"})
    grading = load_task(folder, {})[0].steps[0].grading
    assert (grading.mode, grading.network.mode) == ("separate", "none")
    assert grading.asked is not None
    assert grading.asked.memory_mb == 99
    assert grading.image is not None
    assert grading.image.dockerfile_dir == str(folder / "tests")


def test_steps_inherit_and_override_key_by_key(tmp_path: Path) -> None:
    toml = (
        IMAGE + "[agent]\ntimeout_sec = 9\n[verifier]\ntimeout_sec = 8\nenv = {A = '1'}\n"
        "[[steps]]\nname = 'one'\nmin_reward = {reward = 0.5}\n[steps.verifier]\ntimeout_sec = 7\n"
        "[[steps]]\nname = 'two'\n[steps.agent]\ntimeout_sec = 6\n"
    )
    steps = {"steps/one/instruction.md": "1", "steps/two/instruction.md": "2", "steps/two/tests/test.sh": "#!"}
    task, _ = load_task(make_task(tmp_path, toml, {"instruction.md": None, **steps}), {})
    one, two = task.steps
    assert (one.agent_timeout_s, one.grading.timeout_s, one.grading.env) == (9, 7, {"A": "1"})
    assert (two.agent_timeout_s, two.grading.timeout_s) == (6, 8)
    assert one.grading.tests_dir == tmp_path / "tests"
    assert (two.grading.shared_tests_dir, two.grading.tests_dir) == (tmp_path / "tests", tmp_path / "steps/two/tests")
    assert one.min_reward == {"reward": 0.5}


def test_the_probe_tasks_load(tmp_path: Path) -> None:
    suite = load_suite(PROBES)
    tasks = {task.name: task for task in suite.tasks}
    assert suite.refused == ()
    assert len(tasks) == 10
    assert tasks["offline"].network.mode == "none"
    assert tasks["compose"].compose_file == PROBES / "compose/environment/docker-compose.yaml"
    assert [step.name for step in tasks["multi"].steps] == ["one", "two"]
    assert tasks["slowbuild"].image.dockerfile_dir is not None


LEGACY = {
    "task.toml": None,
    "instruction.md": None,
    "tests/test.sh": None,
    "solution/solve.sh": None,
    "task.yaml": "instruction: |\n  Do it.\ndifficulty: easy\nmax_test_timeout_sec: 33\nauthor_name: A\n",
    "Dockerfile": "FROM x\n",
    "run-tests.sh": "pytest\n",
    "solution.sh": "true\n",
    "docker-compose.yaml": "services:\n  client:\n    build: .\n",
}


def test_a_legacy_folder_becomes_the_same_task(tmp_path: Path) -> None:
    task, _ = load_task(make_task(tmp_path, files=LEGACY), {})
    (step,) = task.steps
    assert (step.instruction, step.agent_timeout_s, step.grading.timeout_s) == ("Do it.\n", 360.0, 33.0)
    assert (step.grading.graders[0].kind, step.grading.script) == ("pytest", tmp_path / "run-tests.sh")
    assert (task.compose_file, task.main_service, task.image.dockerfile_dir) == (None, "client", str(tmp_path))


def test_a_legacy_folder_with_sidecars_keeps_its_compose_file(tmp_path: Path) -> None:
    compose = {"docker-compose.yaml": "services:\n  client:\n    build: .\n  db:\n    image: x:1\n"}
    task, _ = load_task(make_task(tmp_path, files={**LEGACY, **compose}), {})
    assert task.compose_file == tmp_path / "docker-compose.yaml"


def test_another_legacy_parser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="parser_name"):
        load_task(make_task(tmp_path, files={**LEGACY, "task.yaml": "instruction: a\nparser_name: swe\n"}), {})
