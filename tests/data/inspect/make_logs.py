"""Makes the Inspect AI logs beside this file: pip install inspect-ai, then python make_logs.py.

Two tasks of three samples with the mock model: one of four epochs, and one whose second sample errors. Answers
are set by the solver, because the mock model's token counter wants a file from the network.
"""

from inspect_ai import Task
from inspect_ai import eval as run
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, TaskState, solver

RIGHT_IN_EPOCHS = {"one": {1}, "two": {1, 3}, "three": {1, 2, 3, 4}}
SAMPLES = [
    Sample(id=name, input=f"1+{number}?", target=str(number + 1)) for number, name in enumerate(RIGHT_IN_EPOCHS)
]


@solver
def answers(breaks: str = ""):
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == breaks:
            raise RuntimeError("the sandbox went away")
        right = state.epoch in RIGHT_IN_EPOCHS[str(state.sample_id)]
        state.output = ModelOutput.from_content("mockllm/model", state.target.text if right else "9")
        return state

    return solve


if __name__ == "__main__":
    common = {"model": "mockllm/model", "log_dir": ".", "max_samples": 1, "log_format": "eval"}
    run(Task(dataset=SAMPLES, solver=answers(), scorer=match(), epochs=4, name="sums"), **common)
    run(Task(dataset=SAMPLES, solver=answers("two"), scorer=match(), name="errors"), fail_on_error=False, **common)
