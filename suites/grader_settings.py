"""The settings of each grader kind, strict: what `[[passhat.graders]]` may say. Knows no files."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from suites.normalise import Rule, is_answer


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
AbsolutePath = Annotated[str, Field(pattern=r"^/[^\x00]*$")]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class RewardSettings(Settings):
    """A reward file; `keys` names the rewards that must be there and be 1 (empty: all that are there)."""

    kind: Literal["reward"] = "reward"
    keys: Names = ()


class TestsSettings(Settings):
    """A report of single tests, judged by the declared names; `count` is how many must have been run."""

    kind: Literal["tests"]
    fail_to_pass: Names
    pass_to_pass: Names = ()
    report: AbsolutePath = "/logs/verifier/report.json"
    canary: bool = True
    count: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _names(self) -> "TestsSettings":
        if not self.fail_to_pass:
            raise ValueError("fail_to_pass names no test; then doing nothing passes: name at least one")
        both = set(self.fail_to_pass) & set(self.pass_to_pass)
        if both:
            raise ValueError(f"{min(both)!r} is in fail_to_pass and in pass_to_pass: name it once")
        return self


class PytestSettings(Settings):
    """Legacy verdict: every test of the pytest summary that run-tests.sh printed must have passed."""

    kind: Literal["pytest"]


class ExactSettings(Settings):
    """An answer file compared with `expected` under a declared normalisation (suites.normalise)."""

    kind: Literal["exact"]
    expected: Any
    file: AbsolutePath = "/app/answer.txt"
    form: Literal["text", "number", "date", "list", "set"] = "text"
    item: Literal["text", "number", "date"] = "text"
    unit: str | None = None
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    separator: str = ","
    keep_case: bool = False

    @property
    def rule(self) -> Rule:
        return Rule(self.form, self.item, self.unit, self.tolerance, self.separator, self.keep_case)

    @model_validator(mode="after")
    def _readable(self) -> "ExactSettings":
        if not is_answer(self.expected, self.rule):
            raise ValueError(f"expected {self.expected!r} is no {self.form}: then no answer is right")
        return self


class StateSettings(Settings):
    """End state compared with a goal state, plus facts that must have been told.

    `goal` is a JSON file inside tests/. `facts` is a list of facts; each is a list of wordings of which
    one must have been said. `facts_file` is where the agent's words are when they are in the sandbox.
    """

    kind: Literal["state"]
    database: AbsolutePath | None = None
    folder: AbsolutePath | None = None
    goal: str | None = None
    facts: Annotated[tuple[Names, ...], BeforeValidator(_as_tuple)] = ()
    forbidden: Names = ()
    facts_file: AbsolutePath | None = None

    @model_validator(mode="after")
    def _something(self) -> "StateSettings":
        if self.database is not None and self.folder is not None:
            raise ValueError("has both database and folder: use two graders")
        if (self.goal is None) != (self.database is None and self.folder is None):
            raise ValueError("needs a goal together with a database or a folder")
        if self.goal is None and not self.facts:
            raise ValueError("compares nothing: give a goal or facts")
        return self


class JudgeSettings(Settings):
    """A model judge: its versioned prompt, and the files of the sandbox that it is shown."""

    kind: Literal["judge"]
    prompt: str
    version: str
    files: Names = ()
    model: str | None = None


GraderTable = Annotated[
    RewardSettings | TestsSettings | PytestSettings | ExactSettings | StateSettings | JudgeSettings,
    Field(discriminator="kind"),
]
