"""Answers under a declared normalisation: when two writings are one answer. Pure, standard library only.

Forms:
  text    Unicode NFKC, white space collapsed, quotes around it and one full stop after it dropped, case
          ignored unless `keep_case`. Nothing else: "-3" is not "3", "the Arn" is not "Arn".
  number  sign (+, -, U+2212), digits with "," or space or "'" or "_" between groups of three, "." as the
          decimal point, exponent; the declared unit may stand before or behind it, any other is a
          different answer. Compared as decimals within `tolerance` (absolute). "1.234,5" is no number.
  date    2026-03-01, 2026/03/01, 1 March 2026, March 1, 2026 (months also in three letters). "03/01/2026"
          can be read in two ways and is no date.
  list    items of the form `item`, in order, separated by `separator` or line ends, brackets allowed.
  set     like list, in any order, each as often as it is expected.
A leading "answer:" or "final answer:" is dropped. This file is copied as it is into suites whose folders
bring their own check, so that it also runs where passhat is not installed.
"""

import datetime
import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
LABEL = re.compile(r"^\s*(?:final\s+)?answer\s*[:=]\s*", re.IGNORECASE)
GROUPED = re.compile(r"^[+-]?\d{1,3}(?P<sep>[, '_])\d{3}(?:(?P=sep)\d{3})*(?:\.\d+)?$")
PLAIN = re.compile(r"^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$")
ISO_DATE = re.compile(r"^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$")
DAY_FIRST = re.compile(r"^(\d{1,2})(?:st|nd|rd|th)?\.? ([a-z]+)\.?,? (\d{4})$")
MONTH_FIRST = re.compile(r"^([a-z]+)\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})$")
QUOTES = "\"'`“”‘’"


@dataclass(frozen=True)
class Rule:
    """The declared normalisation of one question."""

    form: str = "text"
    item: str = "text"
    unit: str | None = None
    tolerance: float = 0.0
    separator: str = ","
    keep_case: bool = False


def same(answer: str, expected: object, rule: Rule) -> bool:
    """Whether an answer as written is the expected one. `expected` may be a list for list and set."""
    answer = LABEL.sub("", answer.strip(), count=1)
    if rule.form not in ("list", "set"):
        return same_item(answer, str(expected), rule.form, rule)
    given, wanted = items(answer, rule.separator), expected_items(expected, rule)
    if len(given) != len(wanted):
        return False
    if rule.form == "list":
        return all(same_item(a, b, rule.item, rule) for a, b in zip(given, wanted, strict=True))
    for want in wanted:
        match = next((a for a in given if same_item(a, want, rule.item, rule)), None)
        if match is None:
            return False
        given.remove(match)
    return True


def same_item(answer: str, expected: str, form: str, rule: Rule) -> bool:
    """Whether two single values are the same in the form text, number or date."""
    if form == "number":
        one, two = number(answer, rule.unit), number(expected, rule.unit)
        return one is not None and two is not None and abs(one - two) <= Decimal(str(rule.tolerance))
    if form == "date":
        first, second = date(answer), date(expected)
        return first is not None and first == second
    return text(answer, rule.keep_case) == text(expected, rule.keep_case)


def expected_items(expected: object, rule: Rule) -> list[str]:
    if isinstance(expected, list | tuple):
        return [str(part) for part in expected]
    return items(str(expected), rule.separator)


def is_answer(expected: object, rule: Rule) -> bool:
    """Whether an expected answer can be read in its own form, so that some answer can be right."""
    if rule.form in ("list", "set"):
        parts = expected_items(expected, rule)
        return bool(parts) and all(same_item(part, part, rule.item, rule) for part in parts)
    return bool(str(expected).strip()) and same(str(expected), expected, rule)


def text(value: str, keep_case: bool = False) -> str:
    """The normal form of a text."""
    value = " ".join(unicodedata.normalize("NFKC", value).split())
    if value.endswith(".") and not value.endswith(".."):
        value = value[:-1].rstrip()
    while len(value) >= 2 and value[0] in QUOTES and value[-1] in QUOTES:
        value = value[1:-1].strip()
    return value if keep_case else value.casefold()


def number(value: str, unit: str | None = None) -> Decimal | None:
    """A Decimal, or None when it is not one number, alone or with the declared unit."""
    value = " ".join(unicodedata.normalize("NFKC", value).replace("\u2212", "-").split())
    if unit:
        value = _without_unit(value, " ".join(unit.split()))
    value = value.strip()
    if value.endswith(".") and not PLAIN.match(value[:-1] + "0"):
        return None
    value = value.removesuffix(".")
    grouped = GROUPED.match(value)
    if grouped:
        value = value.replace(grouped.group("sep"), "")
    if not PLAIN.match(value):
        return None
    try:
        return Decimal(value)
    except InvalidOperation:
        return None


def date(value: str) -> datetime.date | None:
    """A datetime.date, or None when it is not one date that can be read in one way."""
    value = text(value)
    iso, day_first, month_first = ISO_DATE.match(value), DAY_FIRST.match(value), MONTH_FIRST.match(value)
    if iso:
        year, month, day = (int(part) for part in iso.groups())
    elif day_first:
        day, month, year = int(day_first[1]), _month(day_first[2]), int(day_first[3])
    elif month_first:
        month, day, year = _month(month_first[1]), int(month_first[2]), int(month_first[3])
    else:
        return None
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def items(value: str, separator: str = ",") -> list[str]:
    """The parts of a list as written, brackets and empty parts dropped."""
    value = value.strip()
    for start, end in ("[]", "()", "{}"):
        if value.startswith(start) and value.endswith(end):
            value = value[1:-1]
            break
    parts = re.split("|".join((re.escape(separator), r"[\r\n]+")), value)
    return [part.strip() for part in parts if part.strip()]


def _without_unit(value: str, unit: str) -> str:
    lower, unit = value.casefold(), unit.casefold()
    if lower.endswith(unit):
        return value[: len(value) - len(unit)]
    for sign in ("-", "+", ""):
        if lower.startswith(sign + unit):
            return sign + value[len(sign) + len(unit) :].strip()
    return value


def _month(name: str) -> int:
    for index, month in enumerate(MONTHS, 1):
        if name in (month, month[:3]) or (name == "sept" and index == 9):
            return index
    return 0
