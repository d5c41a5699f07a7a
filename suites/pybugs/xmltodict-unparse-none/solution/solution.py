"""None is written as nothing, as text and as an attribute."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "xmltodict",
        r"cdata = (_convert_value_to_string\(iv\)\n\s+continue)",
        r"cdata = iv if iv is None else \1",
        1,
    ),
    (
        "xmltodict",
        r"attrs\[attr\] = str\(v\)",
        'attrs[attr] = "" if v is None else str(v)',
        1,
    ),
    (
        "xmltodict",
        r"(if not isinstance\(iv, str\):\n\s+iv = )str\(iv\)",
        r'\1"" if iv is None else str(iv)',
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
