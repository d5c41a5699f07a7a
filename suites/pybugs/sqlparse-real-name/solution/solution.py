"""The name of the object stands behind the last dot."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "sqlparse.sql",
        r"^( *)dot_idx, _ = .*\n( *return self\._get_first_name\(dot_idx, real_name=True\))",
        r"""\1dot_idx = None
\1for idx, token in enumerate(self.tokens):
\1    if token.match(T.Punctuation, '.'):
\1        dot_idx = idx
\2""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
