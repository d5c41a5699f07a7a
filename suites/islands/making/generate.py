"""Writes the 36 task folders of this suite from a seed: python suites/islands/making/generate.py

The same seed gives the same files. A task is written only where the reference answer and the solution's
own answer, computed from the files, are the same under the declared normalisation.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

from questions import questions  # noqa: E402
from solutions import BODIES, solution  # noqa: E402
from world import files, make_world  # noqa: E402

from suites.normalise import Rule, same  # noqa: E402

SEED = 20260301
KINDS = (
    "population",
    "lowest-temperature",
    "settled",
    "highest",
    "group-area",
    "ferry-lines",
    "first-ship",
    "long-skerries",
    "governor",
    "rain",
    "three-largest",
    "languages",
    "home-population",
    "passengers",
    "longest-ship-governor",
    "january-july",
    "busiest-voyage",
    "wet-islands",
    "density",
    "two-fares",
    "most-visits",
    "median",
    "net-cargo",
    "days-between",
    "fastest",
    "fastest-way",
    "cheapest",
    "fewest-ferries",
    "closed",
    "remotest",
    "least-network",
    "cut-islands",
    "only-one",
    "keepers",
    "round-trip",
    "near-pairs",
)
DOCKERFILE = """ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}
COPY data /data
RUN python3 -c "import sqlite3; db = sqlite3.connect('/data/shipping.db'); db.executescript(open('/data/shipping.sql').read()); db.commit()" \\
    && rm /data/shipping.sql && mkdir /app && chmod 777 /app
WORKDIR /app
"""
HINTS = {
    "number": "one number{unit}, such as -1234.5",
    "date": "one date, such as 1731-05-09",
    "text": "one name",
    "list": "names separated by commas, in the order that is asked for",
    "set": "names separated by commas, in any order",
}
TEST = "#!/bin/bash\npython3 -I /tests/check.py > /logs/verifier/reward.txt\n"
CHECK = '''"""Prints 1 when the answer is the expected one, else 0; for where passhat's own grader is not there."""

import json
import sys

sys.path.insert(0, "/tests")
from normalise import Rule, same

wanted = json.load(open("/tests/expected.json", encoding="utf-8"))
try:
    answer = open("/app/answer.txt", encoding="utf-8", errors="replace").read(1_000_000)
except OSError:
    answer = ""
print(int(same(answer, wanted.pop("expected"), Rule(**wanted))))
'''
SOLVE = """#!/bin/bash
# The database's tables, written out again, are what the solution reads.
cp -r /data /tmp/data
python3 -c "import sqlite3; open('/tmp/data/shipping.sql', 'w').write(chr(10).join(sqlite3.connect('/data/shipping.db').iterdump()))"
ISLANDS_DATA=/tmp/data python3 /solution/solve.py | tee /app/answer.txt
"""


def main(seed=SEED, target=HERE.parent):
    world = make_world(seed)
    data = files(world)
    asked = questions(world, random.Random(seed + 1))
    assert len(asked) == len(KINDS) == len(BODIES) == 36
    for index, (level, text, form, options, answer) in enumerate(asked):
        check(index, text, form, options, answer, data)
        write(target / f"{level}{index % 12 + 1:02d}-{KINDS[index]}", level, text, form, options, answer, data, index)


def check(index, text, form, options, answer, data):
    with tempfile.TemporaryDirectory() as place:
        for name, content in data.items():
            Path(place, name).write_text(content, encoding="utf-8")
        Path(place, "question.txt").write_text(text, encoding="utf-8")
        Path(place, "solve.py").write_text(solution(index), encoding="utf-8")
        env = {**os.environ, "ISLANDS_DATA": place, "ISLANDS_QUESTION": f"{place}/question.txt"}
        result = subprocess.run([sys.executable, f"{place}/solve.py"], env=env, capture_output=True, text=True)
    if not same(result.stdout, answer, Rule(form, **options)):
        sys.exit(f"{KINDS[index]}: the reference says {answer!r}, the solution {result.stdout!r} {result.stderr}")


def write(folder, level, text, form, options, answer, data, index):
    shutil.rmtree(folder, ignore_errors=True)
    unit = f" in {options['unit']}" if "unit" in options else ""
    hint = HINTS[form].format(unit=unit)
    written = {
        "instruction.md": f"{text}\n\nWrite the answer, {hint}, and nothing else into `/app/answer.txt`. What is known\n"
        "about the archipelago is in `/data`: text files, and a SQLite database that Python's `sqlite3` opens.\n",
        "task.toml": task_toml(folder.name, level, form, options, answer),
        "environment/Dockerfile": DOCKERFILE,
        "tests/test.sh": TEST,
        "tests/check.py": CHECK,
        "tests/expected.json": json.dumps({"form": form, **options, "expected": answer}) + "\n",
        "tests/normalise.py": (HERE.parents[1] / "normalise.py").read_text(encoding="utf-8"),
        "solution/solve.sh": SOLVE,
        "solution/solve.py": solution(index),
        "solution/question.txt": text + "\n",
        **{f"environment/data/{name}": content for name, content in data.items()},
    }
    for name, content in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)


def task_toml(name, level, form, options, answer):
    extra = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in options.items())
    return f'''schema_version = "1.4"

[task]
name = "{name}"

[metadata]
difficulty = "level{level}"
category = "questions"

[agent]
timeout_sec = 600.0

[verifier]
timeout_sec = 60.0

[environment]
cpus = 1
memory_mb = 256
network_mode = "no-network"
workdir = "/app"

[passhat]
cluster = "{name.split("-", 1)[1]}"

[[passhat.graders]]
kind = "exact"
file = "/app/answer.txt"
form = "{form}"
{extra}expected = {json.dumps(answer, ensure_ascii=False)}
'''


if __name__ == "__main__":
    main()
