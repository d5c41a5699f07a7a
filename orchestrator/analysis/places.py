"""Where and when in the day trials ran: counts by task and hour of the day, and by node; knows no statistics."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from orchestrator.analysis.blocks import Block, Coded, Wanted
from orchestrator.analysis.cells import ARM_KEYS
from orchestrator.analysis.grouping import Grouped, GroupedBy, merge, reduce_block
from orchestrator.analysis.outcomes import RunReduction
from orchestrator.core.status import ScoringRule, Status

_HOUR_US = 3_600_000_000
_HOURS = (*range(24), None)


@dataclass(frozen=True, slots=True)
class Hours:
    """n and c by arm, task and UTC hour of the start, under a scoring rule; null where the start is not known."""

    rule: ScoringRule

    @property
    def wanted(self) -> Wanted:
        return Wanted((*ARM_KEYS, "task", "status"), ("started_at",), ("final", "suspect"))

    def take(self, block: Block) -> Grouped:
        started = block.numbers["started_at"]
        known = ~np.isnan(started)
        hour = np.full(block.rows, 24, dtype=np.int32)
        hour[known] = (started[known] // _HOUR_US % 24).astype(np.int32)
        timed = replace(block, coded={**block.coded, "hour": Coded(_HOURS, hour)})
        return reduce_block(timed, (*ARM_KEYS, "task", "hour"), RunReduction(self.rule.counts))

    def join(self, parts: Sequence[Grouped]) -> Grouped:
        return merge(parts)

    def size(self, part: Grouped) -> int:
        return len(part)


def _whatever(_: Status) -> bool:
    return True


NODES = GroupedBy((*ARM_KEYS, "node"), RunReduction(_whatever))
"""n: final trials whatever their ending, not suspect; c: those that passed."""
