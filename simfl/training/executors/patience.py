"""How long work may take elsewhere before whoever does it is taken for stuck.

Nobody knows beforehand how fast a worker is, so the limit is generous, and grows with the work;
once groups have come back, the slowest of them says how long a unit takes.  Being impatient by
mistake costs time alone: the group is computed again, and its next limit is twice as long.
"""

from dataclasses import dataclass

LEAST_S = 60.0
"""However little there is to do."""
UNKNOWN_S = 1.0
"""For each sample-unit, as long as none has come back."""
FACTOR = 20.0
"""So many times longer than the slowest group so far may one take, for its work."""


@dataclass
class Patience:
    """Limits in host seconds for work in sample-units.

    Attributes:
        unit_s: what a unit takes at the most, as far as is known.
    """

    unit_s: float | None = None

    def limit_s(self, work: float, failures: int = 0) -> float:
        """Return how long `work` may take that has failed so often before."""
        unit_s = UNKNOWN_S if self.unit_s is None else FACTOR * self.unit_s
        return float((LEAST_S + unit_s * work) * 2**failures)

    def learn(self, work: float, took_s: float) -> None:
        """Take note that `work` took so long."""
        if work > 0:
            self.unit_s = max(self.unit_s or 0.0, took_s / work)
