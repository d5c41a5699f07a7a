"""An edge of an undirected graph is the same edge from either end."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "networkx.algorithms.operators.all",
        r"^( *)G_edges_set = set\(G\.edges\(keys.*\n",
        r"""\g<0>\1if not G.is_directed():
\1    G_edges_set.update([(v, u, *key) for u, v, *key in G_edges_set])
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
