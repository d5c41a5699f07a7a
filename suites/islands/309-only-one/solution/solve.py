"""Answers the question from the files in /data."""

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
NAMED = sorted((n for n in NAMES if re.search(rf"\b{n}\b", QUESTION)), key=QUESTION.index)
NUMBERS = [int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", QUESTION)]


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


language = re.search(r"one island (.+?) is spoken", QUESTION)[1]
people, high, rain, month, _, lines = NUMBERS
answer = one(
    "SELECT name FROM islands JOIN weather ON island = name WHERE language = ? AND people < ? AND high > ?"
    " AND month = ? AND rain > ? AND ? = (SELECT count(*) FROM ferries WHERE name IN (one_end, other_end))",
    language,
    people,
    high,
    month,
    rain,
    lines,
)

print(", ".join(answer) if isinstance(answer, list) else answer)
