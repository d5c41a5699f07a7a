"""What is neither text nor a slice of it goes to a custom lexer as it is."""

import importlib.util
import re
import sys
from pathlib import Path

# (module, where, what stands there then, how often)
EDITS = [
    (
        "lark.lexer",
        r"b'\\n' if isinstance\(text\.text, bytes\)",
        r"b'\\n' if isinstance(text, TextSlice) and isinstance(text.text, bytes)",
        1,
    ),
    (
        "lark.lexer",
        r"if text\.start > 0:",
        "if isinstance(text, TextSlice) and text.start > 0:",
        1,
    ),
    (
        "lark.lexer",
        r"if not \(text\.start <= ",
        "if isinstance(text, TextSlice) and not (text.start <= ",
        1,
    ),
    (
        "lark.lexer",
        r"^( *)text = TextSlice\.cast_from\(text_or_slice\)\n",
        r"""\1text = text_or_slice
\1if isinstance(text, (str, bytes)):
\1    text = TextSlice.cast_from(text)
""",
        1,
    ),
    (
        "lark.parser_frontends",
        r"if not lexer_state\.text\.is_complete_text\(\):",
        "if isinstance(lexer_state.text, TextSlice) and not lexer_state.text.is_complete_text():",
        2,
    ),
    (
        "lark.parser_frontends",
        r"^( *)return self\.lexer\.lex\(lexer_state\.text\.text\)",
        r"""\1text = lexer_state.text
\1return self.lexer.lex(text.text if isinstance(text, TextSlice) else text)""",
        1,
    ),
]

for module, where, then, times in EDITS:
    file = Path(importlib.util.find_spec(module).origin)
    text, found = re.subn(where, then, file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if found != times:
        sys.exit(f"{file}: expected {times} places to change, found {found}")
    file.write_text(text, encoding="utf-8")
