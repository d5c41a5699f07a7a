"""A semicolon ends no statement while a block is open; BEGIN opens none where a transaction starts."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "sqlparse.engine.statement_splitter",
        r"if \(self\.level <= 0 and ",
        "if (self.level <= 0 and not self._in_block() and ",
        1,
    ),
    (
        "sqlparse.engine.statement_splitter",
        r"^    def process\(",
        """    def _in_block(self):
        words = [token.value.upper() for token in self.tokens
                 if token.ttype in T.Keyword or token.value == ';']
        transaction = (';', 'TRANSACTION', 'TRAN', 'WORK', 'DEFERRED',
                       'IMMEDIATE', 'EXCLUSIVE')
        opened = words.count('CASE') + sum(
            word == 'BEGIN' and after not in transaction
            for word, after in zip(words, words[1:]))
        return opened > words.count('END')

    def process(""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
