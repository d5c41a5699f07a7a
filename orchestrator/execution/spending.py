"""What a sweep may still use, and which of its limits is reached. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spending:
    """What the sweep may still use; None: no limit."""

    usd: float | None = None
    trials: int | None = None
    seconds: float | None = None

    def used_up(self, usd: float, elapsed_s: float, short: bool) -> str | None:
        """The budget that ends the sweep, in a sentence, or None. `short`: trials wait and none may start."""
        if self.seconds is not None and elapsed_s >= self.seconds:
            return f"the budget of {self.seconds / 3600:g} hours is used up"
        if not short:
            return None
        spent = self.usd is not None and usd >= self.usd
        return f"the budget of {f'{self.usd} USD' if spent else f'{self.trials} trials'} is used up"
