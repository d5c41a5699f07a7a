"""Grading in a sandbox: what is put, run and read, and what hostile leftovers come to."""

import itertools
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sandboxes.base import Command, ExecResult, FileEntry, ImageSource, NetworkSpec, SandboxRequest
from sandboxes.fake import FakeProvider, FakeSandbox, answered
from sandboxes.resources import Placement, ResourceSpec
from suites.evidence import PATH
from suites.graders import grade
from suites.grading import Verdict
from suites.judging import JudgeAnswer, JudgeQuestion
from suites.loading import load_task
from suites.task import Task
from tests.builders import IMAGE, make_task

OURS = IMAGE + "[passhat]\n"


def sandbox_that(answer: Callable[[FakeSandbox, Command], ExecResult]) -> FakeSandbox:
    provider = FakeProvider(answer)
    image = provider.ensure_image(ImageSource(reference="x:1"))
    request = SandboxRequest(image, ResourceSpec(), Placement(), {}, 60.0, NetworkSpec())
    return provider.create(request)


def judged(task: Task, sandbox: FakeSandbox, **more: object) -> Verdict:
    step = task.steps[0]
    clock = itertools.count()
    return grade(sandbox, task, step, step.grading, lambda: float(next(clock)), **more)  # type: ignore[arg-type]


def writes(name: str, data: bytes) -> Callable[[FakeSandbox, Command], ExecResult]:
    def answer(sandbox: FakeSandbox, command: Command) -> ExecResult:
        sandbox.write(f"/logs/verifier/{name}", data)
        return answered(1)

    return answer


def plain(tmp_path: Path, toml: str = IMAGE) -> Task:
    return load_task(make_task(tmp_path, toml), {})[0]


def test_a_reward_passes_whatever_the_exit_code(tmp_path: Path) -> None:
    verdict = judged(plain(tmp_path), sandbox_that(writes("reward.txt", b"1\n")))
    assert (verdict.passed, verdict.score, verdict.error_kind) == (True, 1.0, None)


def test_the_json_reward_comes_before_the_text(tmp_path: Path) -> None:
    def both(sandbox: FakeSandbox, _: Command) -> ExecResult:
        sandbox.write("/logs/verifier/reward.txt", b"1")
        sandbox.write("/logs/verifier/reward.json", b'{"reward": 0}')
        return answered()

    assert judged(plain(tmp_path), sandbox_that(both)).passed is False


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("other", b"", "missing"),
        ("reward.txt", b"nan", "malformed"),
        ("reward.txt", b"", "malformed"),
        ("reward.txt", b"1" + b" " * 70_000, "too_large"),
        ("reward.json", b"{}", "malformed"),
    ],
)
def test_no_reward_is_an_error_and_never_zero(tmp_path: Path, name: str, data: bytes, kind: str) -> None:
    verdict = judged(plain(tmp_path), sandbox_that(writes(name, data)))
    assert (verdict.passed, verdict.score, verdict.error_kind) == (None, None, kind)
    assert verdict.error_message


@pytest.mark.parametrize(
    "entry", [FileEntry("/logs/verifier/reward.txt", link="/answer"), FileEntry("/logs/verifier/reward.txt")]
)
def test_a_link_or_folder_in_the_place_of_the_reward_is_an_error(tmp_path: Path, entry: FileEntry) -> None:
    def answer(sandbox: FakeSandbox, _: Command) -> ExecResult:
        sandbox.put([entry, FileEntry("/answer", b"1")])
        return answered()

    assert judged(plain(tmp_path), sandbox_that(answer)).error_kind == "not_a_file"


def test_what_the_agent_left_is_gone_before_the_tests_start(tmp_path: Path) -> None:
    seen: list[str] = []

    def look(sandbox: FakeSandbox, _: Command) -> ExecResult:
        seen.extend(sorted(sandbox.files))
        return answered()

    sandbox = sandbox_that(look)
    sandbox.put([FileEntry("/tests", link="/home"), FileEntry("/logs/verifier/reward.txt", b"1")])
    sandbox.put([FileEntry("/logs/verifier/reward.json", link="/etc/shadow")])
    assert judged(plain(tmp_path), sandbox).error_kind == "missing"
    assert seen == ["/logs", "/logs/verifier", "/tests", "/tests/test.sh"]
    assert sandbox.files["/tests/test.sh"].mode == 0o755


def test_a_reward_takes_one_put_one_exec_and_one_get(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("put", "exec", "get"):
        method = getattr(FakeSandbox, name)

        def counted(
            self: FakeSandbox, *args: object, _name: str = name, _method: Callable[..., object] = method
        ) -> object:
            calls.append(_name)
            return _method(self, *args)

        monkeypatch.setattr(FakeSandbox, name, counted)

    def answer(sandbox: FakeSandbox, _: Command) -> ExecResult:
        sandbox.files["/logs/verifier/reward.txt"] = FileEntry("/logs/verifier/reward.txt", b"1")
        return answered()

    assert judged(plain(tmp_path), sandbox_that(answer)).passed is True
    assert calls == ["put", "exec", "get"]


def test_the_tests_run_clean_as_declared_and_what_they_leave_is_killed(tmp_path: Path) -> None:
    def answer(sandbox: FakeSandbox, _: Command) -> ExecResult:
        sandbox.alive.append("late writer")
        sandbox.write("/logs/verifier/reward.txt", b"1")
        return answered()

    toml = OURS.replace(
        "[passhat]", 'workdir = "/w"\nenv = {A = "1"}\n[verifier]\nuser = "tester"\nenv = {B = "2"}\n[passhat]'
    )
    sandbox = sandbox_that(answer)
    judged(plain(tmp_path, toml), sandbox)
    (command,) = sandbox.commands
    assert command.argv == ("/bin/bash", "-c", "(/tests/test.sh) > /logs/verifier/test-stdout.txt 2>&1")
    assert (command.user, command.workdir, command.clean_env) == ("tester", "/w", True)
    assert command.env == {"PATH": PATH, "HOME": "/home/tester", "LANG": "C.UTF-8", "A": "1", "B": "2"}
    assert sandbox.alive == []


def test_a_folder_of_others_sees_its_image_and_no_start_up_files(tmp_path: Path) -> None:
    sandbox = sandbox_that(writes("reward.txt", b"1"))
    judged(plain(tmp_path), sandbox)
    assert (sandbox.commands[0].clean_env, sandbox.commands[0].env) == (False, {"BASH_ENV": "", "ENV": ""})


def test_tests_past_their_timeout_are_a_timeout(tmp_path: Path) -> None:
    def answer(sandbox: FakeSandbox, _: Command) -> ExecResult:
        sandbox.write("/logs/verifier/reward.txt", b"1")
        return answered(None)

    assert judged(plain(tmp_path), sandbox_that(answer)).error_kind == "timeout"


def test_reports_are_judged_outside_the_container(tmp_path: Path) -> None:
    toml = OURS + '[[passhat.graders]]\nkind = "tests"\nfail_to_pass = ["a"]\npass_to_pass = ["b"]\n'
    report = b'{"tests": {"a": "passed", "b": "passed"}, "canary": "failed"}'
    assert judged(plain(tmp_path, toml), sandbox_that(writes("report.json", report))).passed is True
    patched = judged(plain(tmp_path, toml), sandbox_that(writes("report.json", report.replace(b"failed", b"passed"))))
    assert (patched.passed, patched.flags) == (False, ("canary_passed",))
    assert judged(plain(tmp_path, toml), sandbox_that(writes("reward.txt", b"1"))).error_kind == "missing"


EXACT = OURS + '[[passhat.graders]]\nkind = "exact"\nform = "number"\nexpected = 42\nfile = "/app/answer.txt"\n'


@pytest.mark.parametrize(
    ("entry", "passed", "flags"),
    [
        (FileEntry("/app/answer.txt", b"42\n"), True, ()),
        (FileEntry("/app/answer.txt", b"-42"), False, ()),
        (FileEntry("/app/answer.txt", link="/x"), False, ("answer_not_a_file",)),
        (FileEntry("/app/answer.txt", b"4" * 2_000_000), False, ("answer_too_large",)),
        (FileEntry("/app/other", b"42"), False, ()),
    ],
)
def test_an_exact_answer_needs_no_command_and_its_lack_is_a_failure(
    tmp_path: Path, entry: FileEntry, passed: bool, flags: tuple[str, ...]
) -> None:
    sandbox = sandbox_that(lambda *_: answered())
    sandbox.put([entry])
    verdict = judged(plain(tmp_path, EXACT), sandbox)
    assert (verdict.passed, verdict.error_kind, verdict.flags) == (passed, None, flags)
    assert sandbox.commands == []


def database(tmp_path: Path, *statements: str) -> bytes:
    file = tmp_path / "made.db"
    file.unlink(missing_ok=True)
    connection = sqlite3.connect(file)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return file.read_bytes()


STATE = OURS + (
    '[[passhat.graders]]\nkind = "state"\ndatabase = "/desk/desk.db"\ngoal = "goal.json"\n'
    'facts = [["refused", "not allowed"], ["12.50"]]\nforbidden = ["guaranteed"]\n'
)
GOAL = '{"tables": {"t": {"columns": ["a", "seen"], "rows": [[1, 0], [2, 0]]}}, "ignore": {"t": ["seen"], "log": "*"}}'


@pytest.mark.parametrize(
    ("rows", "said", "passed"),
    [
        ("(2, 9), (1, 9)", "That is not allowed; it costs 12.50.", True),
        ("(1, 9), (3, 9)", "That is not allowed; it costs 12.50.", False),
        ("(1, 9), (2, 9), (2, 9)", "not allowed 12.50", False),
        ("(1, 0), (2, 0)", "it costs 12.50", False),
        ("(1, 0), (2, 0)", "", False),
        ("(1, 0), (2, 0)", "not allowed 12.50 guaranteed", False),
    ],
)
def test_an_end_state_and_the_facts_that_were_told(tmp_path: Path, rows: str, said: str, passed: bool) -> None:
    task = load_task(make_task(tmp_path, STATE, {"tests/goal.json": GOAL}), {})[0]
    sandbox = sandbox_that(lambda *_: answered())
    made = database(tmp_path, "CREATE TABLE t (a, seen)", f"INSERT INTO t VALUES {rows}", "CREATE TABLE log (x)")
    sandbox.put([FileEntry("/desk/desk.db", made)])
    verdict = judged(task, sandbox, said=said)
    assert (verdict.passed, verdict.error_kind) == (passed, None)


@pytest.mark.parametrize("data", [None, b"", b"SQLite format 3\0 broken", b"\0" * 5000])
def test_a_missing_or_broken_database_is_a_failure_of_the_agent(tmp_path: Path, data: bytes | None) -> None:
    task = load_task(make_task(tmp_path, STATE, {"tests/goal.json": GOAL}), {})[0]
    sandbox = sandbox_that(lambda *_: answered())
    sandbox.put([FileEntry("/desk/desk.db", data)])
    verdict = judged(task, sandbox, said="not allowed 12.50")
    assert (verdict.passed, verdict.error_kind) == (False, None)


def test_the_end_state_of_a_folder(tmp_path: Path) -> None:
    toml = OURS + '[[passhat.graders]]\nkind = "state"\nfolder = "/out"\ngoal = "goal.json"\n'
    goal = '{"files": {"a": {"text": "hi"}, "gone": null}, "exact": true}'
    task = load_task(make_task(tmp_path, toml, {"tests/goal.json": goal}), {})[0]
    sandbox = sandbox_that(lambda *_: answered())
    sandbox.put([FileEntry("/out/a", b"hi\n")])
    assert judged(task, sandbox).passed is True
    sandbox.put([FileEntry("/out/b", b"more")])
    assert judged(task, sandbox).passed is False


def test_a_judge_is_asked_once_and_lacking_or_unclear_is_no_verdict(tmp_path: Path) -> None:
    toml = OURS + '[[passhat.graders]]\nkind = "judge"\nprompt = "Is it good?"\nversion = "v3"\nfiles = ["/a"]\n'
    task = plain(tmp_path, toml)
    sandbox = sandbox_that(lambda *_: answered())
    assert judged(task, sandbox).error_kind == "no_judge"
    asked: list[JudgeQuestion] = []

    def judge(question: JudgeQuestion) -> JudgeAnswer:
        asked.append(question)
        return JudgeAnswer(True, "GOOD", cost_usd=0.5)

    verdict = judged(task, sandbox, judge=judge, said="done")
    assert (verdict.passed, verdict.judge_version, verdict.judge_verdict, verdict.cost_usd) == (True, "v3", "GOOD", 0.5)
    assert (asked[0].said, asked[0].files) == ("done", {"/a": None})
    assert judged(task, sandbox, judge=lambda _: JudgeAnswer(None, "?")).error_kind == "unclear"


def test_several_graders_pass_when_all_do(tmp_path: Path) -> None:
    toml = EXACT + '[[passhat.graders]]\nkind = "reward"\n'
    task = plain(tmp_path, toml)
    sandbox = sandbox_that(writes("reward.txt", b"1"))
    sandbox.put([FileEntry("/app/answer.txt", b"42")])
    assert judged(task, sandbox).passed is True
    sandbox.put([FileEntry("/app/answer.txt", b"41")])
    verdict = judged(task, sandbox)
    assert (verdict.passed, verdict.grader, verdict.rewards["exact.reward"]) == (False, "exact+reward", 0.0)
    broken = judged(task, sandbox_that(lambda *_: answered()))
    assert broken.error_kind == "missing"


def test_a_legacy_task_is_judged_by_what_its_tests_print(tmp_path: Path) -> None:
    from tests.unit.suites.test_loading import LEGACY

    task = load_task(make_task(tmp_path, files={**LEGACY, "tests/test_outputs.py": "x"}), {})[0]
    printed = b"== short test summary info ==\nPASSED tests/test_outputs.py::a\n"
    sandbox = sandbox_that(writes("test-stdout.txt", printed))
    assert judged(task, sandbox).passed is True
    assert "(/tests/run-tests.sh)" in sandbox.commands[0].argv[2]
    assert sandbox.files["/tests/run-tests.sh"].mode == 0o755


def test_the_grading_of_a_step_can_be_replaced(tmp_path: Path) -> None:
    task = plain(tmp_path)
    step = task.steps[0]
    sandbox = sandbox_that(writes("reward.txt", b"1"))
    grade(sandbox, task, step, replace(step.grading, timeout_s=5.0), lambda: 0.0)
    assert sandbox.commands[0].timeout_s == 5.0
