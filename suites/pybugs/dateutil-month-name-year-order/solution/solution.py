"""When it is known which of three parts is the month and which the year, the third can only be the day."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "dateutil.parser._parser",
        r"^( *)mstridx = self\.mstridx\n",
        r"""\g<0>
\1if len_ymd == 3 and None not in (mstridx, self.ystridx):
\1    (day,) = {0, 1, 2} - {mstridx, self.ystridx}
\1    return self[self.ystridx], self[mstridx], self[day]
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
