"""The last day of the month that was stepped into has one day more in February of a leap year."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "croniter.croniter",
        r"(\(months=diff_month\)\n\s+reset_day = DAYS\[d\.month - 1\])",
        r"\1 + (d.month == 2 and self.is_leap(d.year))",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
