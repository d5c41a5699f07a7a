"""Prints 1 when the answer is the expected one, else 0; for where passhat's own grader is not there."""

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
