"""How the oracle answers: from the files in the container, by other means than making/questions.py.

One function per question, in the same order; each reads the question's own words for its names and numbers.
`solution(index)` is the source that is shipped as solution/solve.py.
"""

PREAMBLE = '''"""Answers the question from the files in /data."""

import csv
import heapq
import itertools
import json
import os
import re
import sqlite3
from datetime import date
from pathlib import Path

DATA = Path(os.environ.get("ISLANDS_DATA", "/data"))
QUESTION = Path(os.environ.get("ISLANDS_QUESTION", "/solution/question.txt")).read_text(encoding="utf-8")
db = sqlite3.connect(":memory:")
db.executescript((DATA / "shipping.sql").read_text(encoding="utf-8"))
with open(DATA / "islands.csv", encoding="utf-8", newline="") as stream:
    ISLANDS = list(csv.DictReader(stream))
columns = list(ISLANDS[0])
db.execute("CREATE TABLE islands (name, grp, area REAL, people INT, high INT, settled, low REAL, language)")
db.executemany("INSERT INTO islands VALUES (?,?,?,?,?,?,?,?)", [tuple(r.values()) for r in ISLANDS])
db.execute("CREATE TABLE weather (island, month, temp, rain)")
for line in (DATA / "weather_2025.jsonl").read_text(encoding="utf-8").splitlines():
    db.execute("INSERT INTO weather VALUES (?,?,?,?)", tuple(json.loads(line).values()))
db.execute("CREATE TABLE governors (who, island, first, last)")
for line in (DATA / "governors.txt").read_text(encoding="utf-8").splitlines():
    who, island, days = line.split(" | ")
    db.execute("INSERT INTO governors VALUES (?,?,?,?)", (who, island, *days.split(" to ")))
NAMES = [row["name"] for row in ISLANDS]
NAMED = sorted((n for n in NAMES if re.search(rf"\\b{n}\\b", QUESTION)), key=QUESTION.index)
NUMBERS = [int(n.replace(",", "")) for n in re.findall(r"\\d[\\d,]*", QUESTION)]


def one(sql, *values):
    return db.execute(sql, values).fetchone()[0]


def column(sql, *values):
    return [row[0] for row in db.execute(sql, values)]


def around(what="minutes", closed=()):
    lines = {name: {} for name in NAMES if name not in closed}
    for a, b, cost in db.execute(f"SELECT one_end, other_end, {what} FROM ferries"):
        if a in lines and b in lines:
            lines[a][b] = lines[b][a] = cost
    return lines


def dijkstra(start, lines):
    """{island: (cost, way)}"""
    done, queue = {}, [(0, [start])]
    while queue:
        cost, way = heapq.heappop(queue)
        if way[-1] not in done:
            done[way[-1]] = cost, way
            for other, more in lines[way[-1]].items():
                heapq.heappush(queue, (cost + more, [*way, other]))
    return done


'''

BODIES = [
    'answer = one("SELECT people FROM islands WHERE name = ?", NAMED[0])',
    'answer = one("SELECT low FROM islands WHERE name = ?", NAMED[0])',
    'answer = one("SELECT settled FROM islands WHERE name = ?", NAMED[0])',
    'answer = one("SELECT name FROM islands ORDER BY high DESC LIMIT 1")',
    'group = re.search("of (North Reach|Saltmark)", QUESTION)[1]\nanswer = one("SELECT round(sum(area), 1) FROM islands WHERE grp = ?", group)',
    'answer = one("SELECT count(*) FROM ferries WHERE ?1 IN (one_end, other_end)", NAMED[0])',
    'answer = one("SELECT ship FROM ships ORDER BY launched LIMIT 1")',
    "answer = column(\"SELECT name FROM islands WHERE grp = 'Long Skerries' ORDER BY name\")",
    'day = f"{NUMBERS[-1]}-07-01"\nanswer = one("SELECT who FROM governors WHERE island = ?1 AND ?2 BETWEEN first AND last", NAMED[0], day)',
    'answer = one("SELECT sum(rain) FROM weather WHERE island = ?", NAMED[0])',
    'answer = column("SELECT name FROM islands ORDER BY people DESC LIMIT 3")',
    "answer = column(\"SELECT DISTINCT language FROM islands WHERE grp = 'Inner Sound'\")",
    'ship = re.search(r"the (\\w+) has her home", QUESTION)[1]\nanswer = one("SELECT people FROM islands JOIN ships ON home = name WHERE ship = ?", ship)',
    'answer = one(\n    "SELECT sum(passengers) FROM voyages JOIN ships USING (ship) WHERE operator = \'Heron Ferries\'"\n    " AND CAST(substr(day, 6, 2) AS INT) = ?",\n    NUMBERS[0],\n)',
    'home = one("SELECT home FROM ships ORDER BY length_m DESC LIMIT 1")\nanswer = one("SELECT who FROM governors WHERE island = ? AND \'2012-05-15\' BETWEEN first AND last", home)',
    'means = [one("SELECT temp FROM weather WHERE island = ? AND month = ?", NAMED[0], m) for m in (1, 7)]\nanswer = round(means[0] - means[1], 1)',
    'answer = one("SELECT day FROM voyages ORDER BY passengers DESC LIMIT 1")',
    'answer = column(\n    "SELECT name FROM islands JOIN weather ON island = name WHERE people < 5000 GROUP BY name"\n    " HAVING sum(rain) > ?",\n    NUMBERS[1],\n)',
    'answer = one("SELECT name FROM islands ORDER BY people / area DESC LIMIT 1")',
    'start, middle, end = (m for m in re.search(r"from (\\w+) to (\\w+) and from \\2 to (\\w+)", QUESTION).groups())\nlines = around("fare_cents")\nanswer = f"{(lines[start][middle] + lines[middle][end]) / 100:.2f}"',
    'rows = list(\n    db.execute(\n        "SELECT ship, count(DISTINCT place) FROM (SELECT ship, origin AS place FROM voyages UNION ALL"\n        " SELECT ship, destination FROM voyages) GROUP BY ship"\n    )\n)\nanswer = [ship for ship, count in rows if count == max(c for _, c in rows)]',
    "people = column(\"SELECT people FROM islands WHERE grp = 'Saltmark' ORDER BY people\")\nanswer = (people[(len(people) - 1) // 2] + people[len(people) // 2]) / 2",
    'answer = one(\n    "SELECT round(sum(CASE WHEN destination = ?1 THEN cargo_t ELSE -cargo_t END), 1) FROM voyages"\n    " WHERE ?1 IN (origin, destination)",\n    NAMED[0],\n)',
    'first, second = (date.fromisoformat(one("SELECT settled FROM islands WHERE name = ?", n)) for n in NAMED)\nanswer = second.toordinal() - first.toordinal()',
    "answer = dijkstra(NAMED[0], around())[NAMED[1]][0]",
    "answer = dijkstra(NAMED[0], around())[NAMED[1]][1]",
    "answer = f\"{dijkstra(NAMED[0], around('fare_cents'))[NAMED[1]][0] / 100:.2f}\"",
    'answer = dijkstra(NAMED[0], around("1"))[NAMED[1]][0]',
    'closed, start, end = NAMED\nanswer = dijkstra(start, around("minutes", {closed}))[end][0]',
    "found = dijkstra(NAMED[0], around())\nanswer = max(found, key=lambda name: found[name][0])",
    'parts = {name: name for name in NAMES}\n\n\ndef part(name):\n    while parts[name] != name:\n        name = parts[name]\n    return name\n\n\nanswer = 0\nfor a, b, minutes in db.execute("SELECT one_end, other_end, minutes FROM ferries ORDER BY minutes"):\n    if part(a) != part(b):\n        parts[part(a)] = part(b)\n        answer += minutes',
    'answer = []\nfor closed in NAMES:\n    lines = around("minutes", {closed})\n    if len(dijkstra(next(iter(lines)), lines)) < len(lines):\n        answer.append(closed)',
    'language = re.search(r"one island (.+?) is spoken", QUESTION)[1]\npeople, high, rain, month, _, lines = NUMBERS\nanswer = one(\n    "SELECT name FROM islands JOIN weather ON island = name WHERE language = ? AND people < ? AND high > ?"\n    " AND month = ? AND rain > ? AND ? = (SELECT count(*) FROM ferries WHERE name IN (one_end, other_end))",\n    language,\n    people,\n    high,\n    month,\n    rain,\n    lines,\n)',
    'DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]\nKEEPERS = re.search(r"keepers, (.*?), each", QUESTION)[1].split(", ")\nbefore = re.findall(r"(\\w+) keeps the light before (\\w+)\\.", QUESTION)\napart = re.findall(r"(\\w+) and (\\w+) are not on days next", QUESTION)\nabsent = re.findall(r"(\\w+) is not there on (\\w+)\\.", QUESTION)\n\n\ndef fits(place):\n    return (\n        all(place[a] < place[b] for a, b in before)\n        and all(abs(place[a] - place[b]) > 1 for a, b in apart)\n        and all(DAYS[place[a]] != day for a, day in absent)\n    )\n\n\nplaces = [dict(zip(KEEPERS, order)) for order in itertools.permutations(range(5))]\n(found,) = [place for place in places if fits(place)]\nanswer = next(name for name, index in found.items() if index == 2)',
    "home, stops = NAMED[0], frozenset(NAMED[1:])\nfar = {name: dijkstra(name, around()) for name in NAMED}\nbest = {(frozenset(), home): 0}\nfor size in range(1, len(stops) + 1):\n    for been in map(frozenset, itertools.combinations(sorted(stops), size)):\n        for last in been:\n            before = [(been - {last}, p) for p in (been - {last} or {home})]\n            best[been, last] = min(best[k] + far[k[1]][last][0] for k in before)\nanswer = min(best[stops, last] + far[last][home][0] for last in stops)",
    "limit = NUMBERS[0]\nclose = [cost for name in NAMES for cost, _ in dijkstra(name, around()).values() if cost <= limit]\nanswer = (len(close) - len(NAMES)) // 2",
]

ENDING = '\n\nprint(", ".join(answer) if isinstance(answer, list) else answer)\n'


def solution(index):
    """The source of the solution of one question."""
    return PREAMBLE + BODIES[index] + ENDING
