"""A gate: a policy in a TOML file against a summary; every rule holds, fails, or cannot be decided (and fails)."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.comparing import compare_loaded
from orchestrator.analysis.context import Settings
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.select import parse_selection
from orchestrator.analysis.summary import Loaded, load_cells, summarise
from orchestrator.analysis.tables import ArmName, Summary
from orchestrator.core.status import ScoringRule

Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MinimumPolicy(_Strict):
    """pass@k or pass^k at least so high: the whole interval with bound "interval", or the estimate alone."""

    statistic: Annotated[str, Field(pattern=r"^(pass@|pass\^)[1-9][0-9]*$")]
    at_least: Share
    bound: Annotated[str, Field(pattern="^(interval|estimate)$")] = "interval"


class BaselinePolicy(_Strict):
    """Not worse than a baseline by the margin or more: a one-sided t test over tasks at 5%."""

    baseline: str
    margin: Annotated[float, Field(gt=0, lt=1)]
    statistic: Annotated[str, Field(pattern=r"^(pass@|pass\^)[1-9][0-9]*$")] = "pass@1"
    baseline_results: str | None = None


class Policy(_Strict):
    """What must hold. `arm` selects the arms under the gate, e.g. "agent=mine resources=3x"; every one must hold."""

    arm: str = ""
    rule: ScoringRule = ScoringRule.DEFAULT
    seed: Annotated[int, Field(ge=0)] = 0
    minimum: tuple[MinimumPolicy, ...] = ()
    non_inferior: tuple[BaselinePolicy, ...] = ()
    max_cost_per_solved_usd: Annotated[float, Field(gt=0)] | None = None
    max_infrastructure_failure_rate: Share | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """One rule for one arm. holds: None where the number could not be given, which fails the gate."""

    name: str
    arm: str
    holds: bool | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Gate:
    """The verdict."""

    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        return all(check.holds for check in self.checks)

    def paragraph(self) -> str:
        """The verdict in one paragraph."""
        failed = [check for check in self.checks if not check.holds]
        opening = (
            f"The gate holds: all {len(self.checks)} checks passed."
            if not failed
            else (f"The gate fails: {len(failed)} of {len(self.checks)} checks did not pass.")
        )
        return " ".join([opening, *(check.sentence for check in (failed or self.checks))])


def read_policy(path: Path) -> Policy:
    """A policy from a TOML file. Raises RowsError naming the file, the key and what is allowed."""
    try:
        policy = Policy.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise RowsError(f"{path} was asked for as a gate's policy, but cannot be read: {error}.") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        allowed = ", ".join(Policy.model_fields)
        raise RowsError(f"{path}: {key}: {first['msg']} (found {first['input']!r}); keys are {allowed}.") from None
    if not (
        policy.minimum
        or policy.non_inferior
        or policy.max_cost_per_solved_usd
        or policy.max_infrastructure_failure_rate is not None
    ):
        raise RowsError(f"{path} demands nothing: add minimum, non_inferior, max_cost_per_solved_usd or "
                        "max_infrastructure_failure_rate.")  # fmt: skip
    return policy


def judge(policy: Policy, roots: list[str]) -> Gate:
    """Every check of a policy on results folders. Raises RowsError where no row is selected."""
    ks = tuple(int(rule.statistic[5:]) for rule in policy.minimum)
    settings = Settings(rule=policy.rule, seed=policy.seed, k_max=max(10, *ks, 1), quoted_ks=ks)
    loaded = load_cells(roots, selection=parse_selection(policy.arm))
    summary = summarise(loaded, settings)
    checks = [
        *_minimum(policy, summary),
        *_limits(policy, summary, loaded),
        *_baselines(policy, loaded, roots, settings),
    ]
    return Gate((*_sound(loaded), *checks))


def _sound(loaded: Loaded) -> Iterator[Check]:
    """Errors in the rows of the gate's arms: what was left out is told, and what spoils a score decides nothing."""
    for finding in loaded.findings:
        if finding.severity == "error":
            yield Check("the rows are sound", finding.where, None if finding.spoils else True, finding.sentence)


def _minimum(policy: Policy, summary: Summary) -> Iterator[Check]:
    names = list(dict.fromkeys(row.arm.label for row in summary.arms))
    for rule in policy.minimum:
        for arm in names:
            name = f"{rule.statistic} at least {100 * rule.at_least:g}%"
            row = next(
                (r for r in summary.curves if r.arm.label == arm and r.estimand.statistic == rule.statistic), None
            )
            quoted = next(
                (r for r in summary.arms if r.quoted and r.arm.label == arm and r.estimand.statistic == rule.statistic),
                None,
            )
            number = quoted.number if quoted else row.number if row else None
            about = quoted.estimand if quoted else row.estimand if row else None
            if number is None or number.estimate is None or about is None:
                yield Check(
                    name,
                    arm,
                    None,
                    f"{arm}: {rule.statistic} cannot be given, a task has too few trials with a verdict.",
                )
                continue
            bound = number.low if rule.bound == "interval" else number.estimate
            if bound is None:
                yield Check(name, arm, None, f"{arm}: {rule.statistic} has no interval ({number.interval_reason}).")
                continue
            holds = bound >= rule.at_least
            limits = (
                f", 95% interval {100 * (number.low or 0):.1f} to {100 * (number.high or 0):.1f}% by {number.method}"
                if number.low is not None
                else ""
            )
            yield Check(
                name, arm, holds,
                f"{arm}: {rule.statistic} is {100 * number.estimate:.1f}%{limits} over {about.tasks} tasks; "
                f"its {'lower bound' if rule.bound == 'interval' else 'estimate'} {'reaches' if holds else 'is below'} "
                f"{100 * rule.at_least:g}%.",
            )  # fmt: skip


def _tables_alone(loaded: Loaded) -> set[str]:
    """Labels of arms all of whose rows were imported from tables, which tell outcomes and no endings."""
    found = set()
    for arm, part in loaded.profiles.groups(ARM_KEYS):
        sources = part.keys["imported_from"].present()
        if all(str(source).partition(":")[0] in ("table", "figures") for source in sources):
            found.add(ArmName(*(str(value) for value in arm)).label)
    return found


def _limits(policy: Policy, summary: Summary, loaded: Loaded) -> Iterator[Check]:
    if policy.max_cost_per_solved_usd is not None:
        most = policy.max_cost_per_solved_usd
        for row in summary.costs:
            label, number = row.arm.label, row.per_solved
            name = f"at most {most:g} USD per solved"
            if number.estimate is None:
                yield Check(name, label, None, f"{label}: cost per solved cannot be given, {number.reason}.")
                continue
            holds = number.estimate <= most
            yield Check(
                name,
                label,
                holds,
                f"{label}: a solved trial costs {number.estimate:.4g} USD, {'within' if holds else 'above'} {most:g}.",
            )
    if policy.max_infrastructure_failure_rate is not None:
        limit, unknown = policy.max_infrastructure_failure_rate, _tables_alone(loaded)
        for r in summary.resources:
            if r.quantity != "infrastructure failures":
                continue
            name = f"at most {100 * limit:g}% infrastructure failures"
            if r.arm.label in unknown and not r.count:
                yield Check(name, r.arm.label, None, f"{r.arm.label}: its rows come from a table, which need not tell "
                            "failures of the infrastructure: whether there were any is unknown.")  # fmt: skip
                continue
            rate = r.count / r.trials if r.trials else None
            within = None if rate is None else rate <= limit
            yield Check(name, r.arm.label, within, f"{r.arm.label}: {r.count} of {r.trials} attempts failed by infrastructure"
                        f" ({100 * (rate or 0):.2f}%), {'within' if within else 'above'} {100 * limit:g}%.")  # fmt: skip


def _baselines(policy: Policy, loaded: Loaded, roots: list[str], settings: Settings) -> Iterator[Check]:
    for rule in policy.non_inferior:
        everything = load_cells([*roots, rule.baseline_results] if rule.baseline_results else roots)
        for (suite, agent, resources, lane), _ in loaded.cells.groups(["suite", "agent", "resources", "lane"]):
            arm = f"suite={suite} agent={agent} resources={resources} lane={lane}"
            name = f"not worse than {rule.baseline} by {100 * rule.margin:g} points"
            k, asked = int(rule.statistic[5:]), replace(settings, margin=rule.margin)
            try:
                rows = compare_loaded(everything, rule.baseline, arm, asked, ks=(k,))
            except RowsError as error:
                yield Check(name, arm, None, f"{arm}: {error}")
                continue
            row = next((r for r in rows if r.statistic == rule.statistic), None)
            p = row.p_not_inferior if row else None
            holds = None if p is None else p <= 1 - settings.level
            marked = f" Marked: {row.marks}." if row and row.marks else ""
            told = row.sentence + marked if row else f"{rule.statistic} could not be compared."
            said = (
                "the test of not being worse cannot be given"
                if p is None
                else (
                    f"{'not worse' if holds else 'not shown to be not worse'} by {100 * rule.margin:g} points, one-sided p = {p:.3g}"
                )
            )
            yield Check(name, arm, holds, f"{told} Non-inferiority: {said}.")
