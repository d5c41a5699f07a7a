"""Prints 1 when the database is the goal and every fact was told with `desk tell`, else 0."""

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
