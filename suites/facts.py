"""Whether a fact was told: a wording found in what an agent said. Pure.

A wording is found as whole words, case and white space ignored. A wording that is a number is found as
a number: "1,250.00" tells "1250", while "12500", "-1250" and "1250.5" do not.
"""

import re
import unicodedata
from collections.abc import Sequence

from suites.normalise import number

NUMBER = re.compile(r"(?<![\w.,-])[-+\u2212]?\d[\d,]*(?:\.\d+)?(?![\w]|[.,]\d)")


def is_told(wordings: Sequence[str], said: str) -> bool:
    """Whether at least one wording of a fact was said."""
    return any(_said(wording, said) for wording in wordings)


def _said(wording: str, said: str) -> bool:
    wanted = number(wording)
    if wanted is not None:
        found = (number(match.group()) for match in NUMBER.finditer(unicodedata.normalize("NFKC", said)))
        return wanted in found
    pattern = re.escape(_plain(wording)).replace(r"\ ", " ")
    return re.search(rf"(?<!\w){pattern}(?!\w)", _plain(said)) is not None


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).replace("\u2019", "'").casefold().split())
