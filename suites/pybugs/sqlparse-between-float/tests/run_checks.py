"""Run the hidden checks of one task and write what each did. The same file in every task of the suite.

The parent stays root, never imports the library, and alone writes the verdict. The library is imported and
called in child processes without privileges, which can report only through a pipe, with one secret per
check and ending: a check counts as passed when its own secret arrives, so leaving early proves nothing.
Each check file gets a check that must fail, under a random name; where it does not, the verdict is void.
"""

import ast
import json
import os
import random
import resource
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types

TESTS, LIBRARY, LOGS = "/tests", "/opt/library", "/logs/verifier"
FILES = ("fail_to_pass", "pass_to_pass")
NOBODY = 65534
ONE_CHECK_S, ONE_FILE_S = 20.0, 50.0
MOST_BYTES, MOST_WORDS = 16_000_000, 1_000_000
RANDOM = random.SystemRandom()


def main():
    if os.geteuid() != 0:
        sys.exit("the checks must be started by root, so that what they call is not")
    os.chmod(TESTS, 0o700)
    states, canaries = {}, []
    for file in FILES:
        found, canary = run_file(file)
        states.update(found)
        canaries.append(canary)
    canary = next((state for state in ("passed", "missing") if state in canaries), "failed")
    write("report.json", json.dumps({"tests": states, "canary": canary}, indent=1))
    good = canary == "failed" and states and all(state == "passed" for state in states.values())
    write("reward.txt", "1" if good else "0")


def run_file(file):
    """({"file::check": state}, state of the check that must fail)"""
    with open(f"{TESTS}/{file}.py", encoding="utf-8") as stream:
        source = stream.read()
    names = [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    canary, sure = f"test_{secrets.token_hex(8)}", RANDOM.randrange(10, 99)
    source += f"\n\ndef {canary}():\n    assert sum(range({sure})) == {sure * (sure - 1) // 2 + 1}\n"
    checks = [*names, canary]
    RANDOM.shuffle(checks)
    keys = {name: (secrets.token_hex(16), secrets.token_hex(16)) for name in checks}
    told = in_child(file, source, checks, keys)
    states = {name: state_of(told, keys[name]) for name in checks}
    ending = states.pop(canary)
    return {f"{file}::{name}": states[name] for name in names}, ending if ending != "error" else "missing"


def state_of(told, keys):
    passed, failed = (key in told for key in keys)
    return "failed" if failed else "passed" if passed else "error"


def in_child(file, source, checks, keys):
    """The secrets that came through the pipe before the time was up."""
    place = tempfile.mkdtemp()
    os.chown(place, NOBODY, NOBODY)
    incoming, outgoing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.close(incoming)
        try:
            drop_privileges(place)
            run_checks(file, source, checks, keys, outgoing)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(outgoing)
    told = collect(incoming, child)
    os.close(incoming)
    shutil.rmtree(place, ignore_errors=True)
    return told


def collect(incoming, child):
    """What was written until the child ended, or the time was up; then nothing unprivileged is left."""
    data, deadline = b"", time.monotonic() + ONE_FILE_S
    ended = False
    while not ended and time.monotonic() < deadline and len(data) < MOST_WORDS:
        ended = os.waitpid(child, os.WNOHANG) != (0, 0)
        data += read_ready(incoming, 0.0 if ended else 0.02)
    kill_unprivileged()
    if not ended:
        os.waitpid(child, 0)
    return set(data.decode("ascii", errors="replace").split())


def read_ready(incoming, wait_s):
    data = b""
    while len(data) < MOST_WORDS and select.select([incoming], [], [], wait_s)[0]:
        chunk = os.read(incoming, 65536)
        if not chunk:
            break
        data, wait_s = data + chunk, 0.0
    if not data and wait_s:
        time.sleep(0.001)
    return data


def drop_privileges(place):
    os.setsid()
    os.chdir(place)
    os.environ.clear()
    os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", HOME=place, LANG="C.UTF-8")
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def run_checks(file, source, checks, keys, outgoing):
    sys.dont_write_bytecode = True
    sys.path.insert(0, LIBRARY)
    module = types.ModuleType(file)
    sys.modules[file] = module
    exec(compile(source, f"{file}.py", "exec"), module.__dict__)
    for name in checks:
        grandchild = os.fork()
        if grandchild == 0:
            os.write(outgoing, one_check(getattr(module, name), name, keys[name]).encode() + b"\n")
            os._exit(0)
        wait(grandchild)


def one_check(check, name, keys):
    try:
        check()
    except BaseException as error:
        said = traceback.format_exception_only(error)[-1].strip()
        print(f"{name}: {said[:300]}", file=sys.stderr, flush=True)
        return keys[1]
    return keys[0]


def wait(process):
    deadline, pause = time.monotonic() + ONE_CHECK_S, 0.001
    while os.waitpid(process, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return
        time.sleep(pause)
        pause = min(pause * 2, 0.05)


def kill_unprivileged():
    """End everything that runs as the unprivileged user, also what left its session."""
    killer = os.fork()
    if killer == 0:
        try:
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.kill(-1, signal.SIGKILL)
        except OSError:
            pass
        finally:
            os._exit(0)
    os.waitpid(killer, 0)


def write(name, text):
    with open(f"{LOGS}/{name}", "w", encoding="utf-8") as stream:
        stream.write(text + "\n")


if __name__ == "__main__":
    main()
