"""A dot in front of a digit begins a number and ends no name."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "sqlparse.keywords",
        r"\(\?=\\s\*\\\.\)(?=', tokens\.Name\))",
        r"(?=\\s*\\.(?!\\d))",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
