"""A boolean equals only a boolean, and every number is true, whatever its type."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "jmespath.visitor",
        r"^( *)if _is_special_\w+\(x, y\):\n.*\n.*\n.*\n",
        r"""\1return isinstance(x, bool) == isinstance(y, bool) and x == y
""",
        1,
    ),
    (
        "jmespath.visitor",
        r"type\(original_result\) is int and original_result == 0",
        "_is_actual_number(original_result)",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
