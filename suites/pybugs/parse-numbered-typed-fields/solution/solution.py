"""The format of a field is what stands behind its colon, also when a number stands before it."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "parse",
        r"if ':' in field:\n\s+format = field\[1:\]",
        "_, _, format = field.partition(':')",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
