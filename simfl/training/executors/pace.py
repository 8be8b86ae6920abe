"""How fast training goes: whether others beside this process speed it up is seen, not reckoned.

What models take to travel, a sum to be made, and other programs on the machine are all in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from simfl.core.work import WorkResult


@dataclass
class Pace:
    """Host seconds of training, but for the first call, in which everything gets ready.

    Attributes:
        calls: all of them.
        seconds: of those after the first.
        steps: that these made.
    """

    calls: int = 0
    seconds: float = 0.0
    steps: int = 0

    def learn(self, seconds: float, results: Iterable[WorkResult]) -> None:
        """Take note of a call that took so long, and what came of it."""
        self.calls += 1
        if self.calls > 1:
            self.seconds += seconds
            self.steps += sum(result.steps for result in results)

    def is_slower_than(self, other: "Pace") -> bool:
        """Return whether a step took longer than one of `other`, if both are known."""
        return self.seconds * other.steps > other.seconds * self.steps
