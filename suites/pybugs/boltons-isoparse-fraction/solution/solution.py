"""The digits after the decimal point are a fraction, so they are filled up or cut to microseconds."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "boltons.timeutils",
        r"^( *)dt_args = \[int\(.*\n",
        r"""\1parts = _NONDIGIT_RE.split(iso_str)
\1parts[6:] = [part and part.ljust(6, "0")[:6] for part in parts[6:]]
\1dt_args = list(map(int, parts))
""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
