"""After a deletion, a comma without a value before it is dropped."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "tomlkit.items",
        r"^( *)if len\(self\._value\) > 0:\n\s+v = self\._value\[-1\]\n",
        r"""\1has_value = False
\1for group in self._value:
\1    has_value = has_value or not isinstance(group.value or Null(), Null)
\1    if group.comma is not None:
\1        if not has_value:
\1            group.comma = None
\1        has_value = False
\g<0>""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
