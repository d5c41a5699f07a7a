"""The counts of one kind of fault."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Checked:
    """`wrong`: trials that ended otherwise than they must, and what else does not hold. `notes` say which.

    `failed_paid`: attempts that failed after they had asked a model, whose cost was looked for.
    """

    injected: int = 0
    lost: int = 0
    doubled: int = 0
    leaked: int = 0
    wrong: int = 0
    failed_paid: int = 0
    notes: list[str] = field(default_factory=list)
