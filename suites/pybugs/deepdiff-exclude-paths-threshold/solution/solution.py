"""Keys that are excluded by their path are left out when it is decided whether two objects are alike."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "deepdiff.diff",
        r"^( *)if len\(t_keys_union\) > 1 and len\(t_keys_intersect\) / len\(t_keys_union\)",
        r"""\1left_out = self.exclude_paths or ()
\1compared = [key for key in t_keys_union if f"{level.path()}[{key!r}]" not in left_out]
\1if len(compared) > 1 and len(t_keys_intersect) / len(compared)""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
