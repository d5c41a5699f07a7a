"""Only an expression for the content that was made here gets the parse action."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "pyparsing.helpers",
        r"^    if content is None:\n",
        """    is_own = content is None
    if is_own:
""",
        1,
    ),
    (
        "pyparsing.helpers",
        r"if (ParserElement\.DEFAULT_WHITE_CHARS:\n\s+content\.set_parse_action)",
        r"if is_own and \1",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
