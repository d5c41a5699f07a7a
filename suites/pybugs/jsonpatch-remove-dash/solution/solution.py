"""The place after the last element of a list holds nothing that could be removed."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "jsonpatch",
        r"(?s)(^class RemoveOperation.*?)^( *)(subobj, part = self\.pointer\.to_last\(obj\)\n)",
        r"""\1\2\3\2if part == "-" and isinstance(subobj, MutableSequence):
\2    raise JsonPointerException("'-' names no element of the list")
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
