"""The hook for a model judge: what it is asked and what it must tell. Knows no model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JudgeQuestion:
    """`files`: path -> text, or None where it could not be read as a bounded regular file."""

    prompt: str
    version: str
    instruction: str
    said: str
    files: Mapping[str, str | None]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class JudgeAnswer:
    """`passed` is None when the verdict could not be parsed strictly: then there is no verdict.

    `version` names model, prompt, rubric and settings; empty: the rubric's own version is all that is known.
    """

    passed: bool | None
    verdict: str
    text: str = ""
    cost_usd: float | None = None
    version: str = ""


Judge = Callable[[JudgeQuestion], JudgeAnswer]
