"""Hour 24 is kept by the parser of times and becomes midnight of the next day where there is a date."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "dateutil.parser.isoparser",
        r"^( *)return datetime\(\*components\)",
        r"""\1ends_day = components[3:4] == [24]
\1if ends_day:
\1    components[3] = 0
\1return datetime(*components) + timedelta(hours=24 * ends_day)""",
        1,
    ),
    (
        "dateutil.parser.isoparser",
        r"^( *)return time\(\*self\._parse_isotime\((\w+)\)\)",
        r"""\1hour, *rest = self._parse_isotime(\2)
\1return time(hour % 24, *rest)""",
        1,
    ),
    (
        "dateutil.parser.isoparser",
        r"(Hour may only be 24 .*\n)\s+components\[0\] = 0\n",
        r"\1",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
