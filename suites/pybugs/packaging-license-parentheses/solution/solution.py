"""A parenthesis may follow an opening one, and may not close what holds nothing."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "packaging.licenses",
        r'elif token == "\(" and python_tokens and python_tokens\[-1\] not in .*:',
        """elif (token == ")" and python_tokens[-1:] == ["("]) or (
            token == "(" and python_tokens and python_tokens[-1] not in {"or", "and", "("}
        ):""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
