"""A date or time must match to its end."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "isodate.isodates",
        r"pattern\.match\(datestring\)",
        "pattern.fullmatch(datestring)",
        1,
    ),
    (
        "isodate.isotime",
        r"pattern\.match\(timestring\)",
        "pattern.fullmatch(timestring)",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
