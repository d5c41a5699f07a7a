"""The hash is taken of what is compared, not of how it is written."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "packaging.requirements",
        r"^( *)return hash\(tuple\(self\._iter_parts\(.*\n",
        r"""\1compared = self.specifier, self.url, self.marker
\1return hash((canonicalize_name(self.name), frozenset(self.extras), *compared))
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
