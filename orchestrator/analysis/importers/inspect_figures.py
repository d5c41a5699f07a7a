"""Whether the figures in an Inspect AI log follow from its samples: means, pass@k and pass^k of one scorer."""

import math
import re
from collections.abc import Iterator, Mapping

from orchestrator.analysis.importers.base import finite, mapping
from orchestrator.stats.passk import pass_at_k_task, pass_hat_k_task

_REDUCER = re.compile(r"pass_(?P<kind>at|k)_(?P<k>[0-9]+)")
_CLOSE = 1e-9


class Figures:
    """Takes the scores of the samples; then says which of the log's own figures they do not give."""

    def __init__(self) -> None:
        self._scores: dict[str, list[float]] = {}

    def add(self, task: str, score: float | None) -> None:
        if score is not None:
            self._scores.setdefault(task, []).append(score)

    def differences(self, results: Mapping[str, object], scorer: str | None) -> Iterator[str]:
        """One sentence for each figure, of means over samples, that the samples contradict."""
        told = results.get("scores")
        for entry in map(mapping, told if isinstance(told, list) else []):
            if scorer not in (entry.get("name"), f"{entry.get('scorer')}.{entry.get('name')}"):
                continue
            reducer = str(entry.get("reducer") or "mean")
            ours = self._mean(reducer)
            for name, metric in mapping(entry.get("metrics")).items():
                printed = finite(mapping(metric).get("value"))
                if name not in ("accuracy", "mean") or printed is None or ours is None:
                    continue
                if not math.isclose(printed, ours, rel_tol=_CLOSE, abs_tol=_CLOSE):
                    yield f"the log gives {name} {printed:.6g} for {scorer} by {reducer}, its samples give {ours:.6g}"

    def _mean(self, reducer: str) -> float | None:
        """The mean over samples, those left out for which the reducer has no value; None for another reducer."""
        if reducer == "mean":
            values = [sum(scores) / len(scores) for scores in self._scores.values()]
        elif match := _REDUCER.fullmatch(reducer):
            task_value = pass_at_k_task if match["kind"] == "at" else pass_hat_k_task
            counted = [(len(scores), sum(score >= 1.0 for score in scores)) for scores in self._scores.values()]
            found = [task_value(n, c, int(match["k"])) for n, c in counted]
            values = [value for value in found if value is not None]
        else:
            return None
        return sum(values) / len(values) if values else None
