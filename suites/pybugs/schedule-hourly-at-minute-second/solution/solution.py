"""Two numbers at an hourly job are the minute and the second."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "schedule",
        r"(_, second = time_values\n)( +)(else:)",
        r"""\1\2elif self.unit == "hours" and len(time_values) == 2 and time_values[0]:
\2    hour, (minute, second) = 0, time_values
\2\3""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
