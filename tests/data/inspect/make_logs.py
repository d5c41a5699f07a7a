"""Makes logs of Inspect AI in the current folder: see README.md for the command.

The mock model answers as a table says, so that what Inspect prints is known before it runs. It gives its own token
counts, because its counter wants a file from the network.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from inspect_ai import Epochs, Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Target, accuracy, match, mean, scorer
from inspect_ai.solver import Generate, TaskState, generate, solver

# One letter an epoch: Correct, Incorrect, Partial, No answer, E raises an error, L runs into the time limit,
# U is left without a score.
ERRORS = {"never": "IIII", "once": "ICII", "twice": "CIIC", "always": "CCCC", "broken": "CCEI", "gone": "EEEE"}
LETTERS = {"partial": "PPPC", "silent": "NNNN", "mixed": "CPNI", "right": "CCCC", "unscored": "CUCI"}
LIMITS = {"slow": "LLCC", "quick": "CCCI"}
SHORT = {"twice": "CIIC", "broken": "CCEI", "unscored": "CUCI"}
ONCE_BROKEN = {"shaky": "CCCI", "steady": "CCCC"}


def samples(table: dict[str, str]) -> list[Sample]:
    return [Sample(id=name, input=f"1+{number}?", target=str(number + 1)) for number, name in enumerate(table)]


def model(**options: object):
    """The mock model: right where the prompt ends with the word right, with counts of tokens."""

    def answer(messages: list[ChatMessage], *_: object) -> ModelOutput:
        question, _, word = messages[-1].text.rpartition("?")
        text = str(eval(question)) if word.strip() == "right" else "99"
        output = ModelOutput.from_content("mockllm/model", text)
        output.usage = ModelUsage(input_tokens=11, output_tokens=2, total_tokens=13, input_tokens_cache_read=5)
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False, **options)


@solver
def told(table: dict[str, str], breaks_once: str = ""):
    """Tells the mock model by the prompt's last word whether to be right, or does not let it answer at all."""
    broken: set[int] = set()

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        letter = table[str(state.sample_id)][state.epoch - 1]
        if letter == "E":
            raise RuntimeError("the sandbox went away")
        if state.sample_id == breaks_once and state.epoch not in broken:
            broken.add(state.epoch)
            raise RuntimeError("the sandbox went away once")
        if letter == "L":
            await asyncio.sleep(60)
        state.user_prompt.text += " right" if letter == "C" else " wrong"
        state.metadata["letter"] = letter
        return state

    return solve


@scorer(metrics=[accuracy(), mean()])
def letters():
    async def score(state: TaskState, target: Target) -> Score:
        letter = state.metadata["letter"]
        return Score.unscored() if letter == "U" else Score(value=letter, answer=state.output.completion)

    return score


@scorer(metrics={"*": [mean()]})
def parts():
    async def score(state: TaskState, target: Target) -> Score:
        right = state.output.completion == target.text
        return Score(value={"answer": int(right), "form": 1})

    return score


def made(name: str, table: dict[str, str], scorers: list, reducers: list[str], **options: object) -> None:
    """Runs one task and keeps its log as name.eval."""
    breaks_once = str(options.pop("breaks_once", ""))
    task = Task(dataset=samples(table), solver=[told(table, breaks_once), generate()], scorer=scorers,
                epochs=Epochs(4, reducers), name=name, version=2)  # fmt: skip
    with TemporaryDirectory() as folder:
        (log,) = run(task, model=model(), log_dir=folder, max_samples=1, display="none", log_format="eval", **options)
        Path(log.location.removeprefix("file://")).replace(f"{name}.eval")


if __name__ == "__main__":
    passes = ["mean", *(f"pass_at_{k}" for k in range(1, 5)), *(f"pass_k_{k}" for k in range(1, 5))]
    made("errors", ERRORS, [match()], passes, fail_on_error=False)
    made("letters", LETTERS, [letters()], ["mean", "pass_at_1", "pass_at_2", "pass_at_3"])
    made("limits", LIMITS, [match()], ["mean", "pass_at_2"], time_limit=1)
    made("retries", ONCE_BROKEN, [match()], ["mean", "pass_at_2"], breaks_once="shaky", retry_on_error=2)
    made("scorers", ONCE_BROKEN, [match(), parts()], ["mean", "pass_at_2"])
    made("stopped", {"always": "CCCC", "gone": "EEEE", "twice": "CIIC"}, [match()], ["mean"], fail_on_error=True)
    made("short", SHORT, [letters()], ["mean", "pass_at_1", "pass_at_2"], fail_on_error=False)
    write_eval_log(read_eval_log("short.eval"), "short.json", format="json")
