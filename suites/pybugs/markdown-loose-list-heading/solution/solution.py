"""Inside an item the first level of indentation is the item's own, in a loose list as in a tight one."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "markdown.blockprocessors",
        r"(?s)(def get_level.*?if )(self\.parser\.state\.isstate\('list'\))",
        r"\1parent.tag in self.ITEM_TYPES and self.parser.state.isstate('looselist') or \2",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
