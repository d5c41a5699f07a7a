"""A number that is rounded up to a thousand moves on to the next prefix, if there is one."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "humanize.number",
        r"^( *)value /= 10 \*\* \(exponent // 3 \* 3\)\n",
        r"""\g<0>\1shown = max(0, int(precision) - exponent % 3 - 1)
\1if exponent < 30 and abs(round(value, shown)) >= 1000:
\1    value, exponent = value / 1000, exponent + 3 - exponent % 3
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
