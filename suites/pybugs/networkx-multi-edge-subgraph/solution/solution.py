"""A neighbor whose edges are all hidden is none."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "networkx.classes.coreviews",
        r"^( *)return (FilterAtlas\(self\._atlas\[nbr\], new_node_ok\))\n(?=\s+raise KeyError.*\n\n\nclass FilterMultiAdjacency)",
        r"""\1visible = \2
\1if any(True for _ in visible):
\1    return visible
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
