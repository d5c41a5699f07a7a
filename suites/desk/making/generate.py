"""Writes the task folders of this suite from making/cases.py: python suites/desk/making/generate.py

The goal state comes from the case's own SQL; the oracle reaches it through the desk's tools. Both must agree.
"""

import json
import shlex
import shutil
import sqlite3
from pathlib import Path

from cases import CASES, CUSTOMERS, ITEMS, ORDERS, PRODUCTS

HERE = Path(__file__).resolve().parent
TABLES = {
    "customers": ("id, name, email, postcode, address", CUSTOMERS),
    "products": ("sku, family, cents, stock, sale", PRODUCTS),
    "orders": ("number, customer, status, promised, delivered, address", ORDERS),
    "items": ("number, sku, quantity, cents, state", ITEMS),
    "refunds": ("number, cents", []),
    "vouchers": ("customer, number, cents", []),
}
DOCKERFILE = """ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}
COPY desk.py policy.md start.sql /desk/
RUN python3 -c "import sqlite3; sqlite3.connect('/desk/desk.db').executescript(open('/desk/start.sql').read())" \\
    && rm /desk/start.sql && ln -s /desk/desk.py /usr/local/bin/desk && chmod 755 /desk/desk.py
WORKDIR /desk
"""
TEST = """#!/bin/bash
# Where passhat's own grader is not there: the end state and what was told with `desk tell`.
python3 -I /tests/check.py > /logs/verifier/reward.txt
"""
CHECK = '''"""Prints 1 when the database is the goal and every fact was told with `desk tell`, else 0."""

import json
import sqlite3

wanted = json.load(open("/tests/goal.json", encoding="utf-8"))
facts = json.load(open("/tests/facts.json", encoding="utf-8"))
db = sqlite3.connect("/desk/desk.db")
try:
    told = open("/desk/told.txt", encoding="utf-8").read().casefold()
except OSError:
    told = ""
good = all(
    sorted(map(repr, db.execute(f"SELECT * FROM {name}"))) == sorted(repr(tuple(row)) for row in table["rows"])
    for name, table in wanted["tables"].items()
)
print(int(good and all(any(wording.casefold() in told for wording in fact) for fact in facts)))
'''


def main(target=HERE.parent):
    script = start()
    for case in CASES:
        write(target / case["name"], case, script)


def start():
    lines = []
    for name, (columns, rows) in TABLES.items():
        lines.append(f"CREATE TABLE {name} ({columns});")
        for row in rows:
            values = ", ".join("NULL" if value is None else repr(value) for value in row)
            lines.append(f"INSERT INTO {name} VALUES ({values});")
    return "\n".join(lines) + "\n"


def goal(case, script):
    db = sqlite3.connect(":memory:")
    db.executescript(script)
    for line in case["goal"]:
        assert db.execute(line).rowcount == 1, line
    return {
        "tables": {
            name: {"columns": columns.split(", "), "rows": [list(row) for row in db.execute(f"SELECT * FROM {name}")]}
            for name, (columns, _) in TABLES.items()
        }
    }


def write(folder, case, script):
    shutil.rmtree(folder, ignore_errors=True)
    steps = [" ".join(map(shlex.quote, ("desk", *step))) for step in case["steps"]]
    words = "; ".join(fact[0] for fact in case["facts"])
    answer = f"desk tell {shlex.quote(words)}"
    files = {
        "instruction.md": "You are at the service desk of Brook & Fern, a shop for garden things. Follow `/desk/policy.md` to the\n"
        "letter. Your tools are the command `desk` (without arguments it says what it can). You speak with one\n"
        f"customer; where there is no conversation, say what you have to say with `desk tell`.\n\nThe customer writes:\n\n> {case['opening']}\n> My e-mail address is {case['known']['e-mail address']}, my postcode is {case['known']['postcode'].split(' ')[0]}.\n",
        "task.toml": toml(case),
        "environment/Dockerfile": DOCKERFILE,
        "environment/desk.py": (HERE / "desk.py").read_text(encoding="utf-8"),
        "environment/policy.md": (HERE / "policy.md").read_text(encoding="utf-8"),
        "environment/start.sql": script,
        "tests/test.sh": TEST,
        "tests/check.py": CHECK,
        "tests/goal.json": json.dumps(goal(case, script)) + "\n",
        "tests/facts.json": json.dumps(case["facts"]) + "\n",
        "solution/solve.sh": "#!/bin/bash\nset -e\n" + "\n".join([*steps, answer]) + "\n",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.endswith(".sh"):
            path.chmod(0o755)


def toml(case):
    known = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in case["known"].items())
    possible = "yes" if case["steps"] else "no change"
    return f'''schema_version = "1.4"

[task]
name = "{case["name"]}"

[metadata]
difficulty = "{case["difficulty"]}"
category = "service desk"
changes = "{possible}"

[agent]
timeout_sec = 600.0

[verifier]
timeout_sec = 60.0

[environment]
cpus = 1
memory_mb = 256
network_mode = "no-network"
workdir = "/desk"

[passhat]
cluster = "{case["name"].split("-")[0]}"

[passhat.simulated_user]
persona = {json.dumps(f"{case['who'][1]}, a customer of the shop, polite and short")}
goal = {json.dumps(case["wanted"])}
opening = {json.dumps(case["opening"])}

[passhat.simulated_user.known]
{known}
[[passhat.simulated_user.script]]
pattern = "(?i)mail|postcode"
reply = {json.dumps(f"It is {case['known']['e-mail address']}, postcode {case['known']['postcode'].split(' ')[0]}.")}

[[passhat.graders]]
kind = "state"
database = "/desk/desk.db"
goal = "goal.json"
facts = {json.dumps(case["facts"])}
facts_file = "/desk/told.txt"
'''


if __name__ == "__main__":
    main()
