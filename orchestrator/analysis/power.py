"""How many tasks and repeats a difference needs, from variances that are measured or assumed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.context import Settings
from orchestrator.analysis.contrasts import Side
from orchestrator.analysis.rows import RowsError
from orchestrator.analysis.select import parse_selection
from orchestrator.analysis.summary import load_cells
from orchestrator.stats.planning import (
    Noise,
    noise_between,
    normal_power,
    simulated_power,
    smallest_difference,
    tasks_needed,
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. tasks None: how many are needed; difference None: the smallest that would be seen."""

    difference: float | None = None
    tasks: int | None = None
    repeats: int = 1
    power: float = 0.8
    alpha: float = 0.05


@dataclass(frozen=True, slots=True)
class Answer:
    """Tasks needed for the difference, the smallest difference seen with the tasks, and the power of both.

    normal_power is of a z test; simulated_power of the sign-flip test in use, which at few tasks is much lower.
    """

    tasks_needed: int | None
    smallest_difference: float | None
    normal_power: float | None
    simulated_power: float | None
    simulation_error: float | None
    omega2: float
    sigma2_a: float
    sigma2_b: float
    source: str
    sentence: str


def measured_noise(
    roots: Sequence[str], first: str, second: str, settings: Settings
) -> tuple[Noise, tuple[np.ndarray, np.ndarray], int]:
    """The variances behind a comparison, both arms' rates on their shared tasks, and how many there are.

    Raises RowsError below 2 shared tasks or where tasks have a single trial.
    """
    loaded = load_cells(roots)
    sides = [Side.of(text, parse_selection(text).apply(loaded.cells), settings.rule) for text in (first, second)]
    shared = sorted(set(sides[0].tasks) & set(sides[1].tasks))
    if len(shared) < 2:
        raise RowsError(
            f"{first} and {second} share {len(shared)} tasks with verdicts: variances need 2, or give them."
        )
    a, b = sides[0].on(shared), sides[1].on(shared)
    if ((a.n > 1) & (b.n > 1)).sum() < 2:
        raise RowsError(
            "Almost every task has a single trial: the noise within tasks is unknown; run 2 repeats, or give it."
        )
    rates = (a.c / a.n, b.c / b.n)
    return noise_between(a.n, a.c, b.n, b.c), rates, len(shared)


def answer(
    question: Question, noise: Noise, source: str, *, rates: tuple[np.ndarray, np.ndarray] | None = None, seed: int = 0
) -> Answer:
    """What a design can see."""
    kinds = {"repeats_a": question.repeats, "repeats_b": question.repeats, "alpha": question.alpha}
    needed = least = reached = None
    if question.difference is not None:
        needed = tasks_needed(noise, question.difference, power=question.power, **kinds).tasks
    if question.tasks is not None:
        least = smallest_difference(noise, question.tasks, power=question.power, **kinds)
        if question.difference is not None:
            reached = normal_power(noise, question.difference, question.tasks, **kinds)
    simulated = error = None
    if rates is not None and question.tasks is not None:
        found = simulated_power(
            *rates, rng=np.random.default_rng(seed), tasks=question.tasks, alpha=question.alpha,
            repeats_a=question.repeats, repeats_b=question.repeats,
        )  # fmt: skip
        simulated, error = found.power, found.error
    sentence = _sentence(question, needed, least, reached, simulated)
    return Answer(
        needed, least, reached, simulated, error, noise.omega2, noise.sigma2_a, noise.sigma2_b, source, sentence
    )


def _sentence(
    question: Question, needed: int | None, least: float | None, reached: float | None, simulated: float | None
) -> str:
    test = f"{question.repeats} repeats of each arm, a two-sided test at {100 * question.alpha:g}%"
    told = []
    if needed is not None and question.difference is not None:
        told.append(
            f"A difference of {100 * question.difference:g} points needs {needed} tasks ({test}, power {100 * question.power:g}%)."
        )
    if least is not None:
        told.append(
            f"{question.tasks} tasks see a difference of {100 * least:.1f} points with power {100 * question.power:g}% ({test})."
        )
    if reached is not None and question.difference is not None:
        told.append(
            f"For {100 * question.difference:g} points they have power {100 * reached:.1f}% by the normal formula."
        )
    if simulated is not None:
        told.append(f"The sign-flip test has power {100 * simulated:.1f}% for the difference measured, by simulation.")
    return " ".join(told)
