"""Closed forms that virtual time must obey: what `simfl selftest` runs, anywhere, in seconds.

Each law compares what the simulation does with what theory or arithmetic says, at fixed seeds: the
outcome is the same wherever it runs.  Where a law is about an average, its tolerance is a few
standard errors of that average.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simfl.testing.virtual_time import closed_forms


@dataclass(frozen=True)
class Check:
    """One law, and how the simulation fares.

    Attributes:
        name: the law.
        expected: what it says.
        measured: what the simulation does.
        tolerance: largest relative difference (absolute, where 0 is expected).
    """

    name: str
    expected: float
    measured: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether it holds (nothing measured: no)."""
        scale = abs(self.expected) or 1.0
        return abs(self.measured - self.expected) <= self.tolerance * scale

    def __str__(self) -> str:
        return (
            f"{'ok  ' if self.passed else 'FAIL'}  {self.name}: expected {self.expected:.10g}, "
            f"measured {self.measured:.10g}, tolerance {self.tolerance:g}"
        )


def checks() -> Iterator[Check]:
    """Yield every law, checked as it is reached."""
    for name, tolerance, law in LAWS:
        expected, measured = law()
        yield Check(name, float(expected), float(measured), tolerance)


EXACT = 1e-12

LAWS: tuple[tuple[str, float, Callable[[], tuple[float, float]]], ...] = (
    ("one device: round = latencies + bytes + computing, s", EXACT, closed_forms.one_device),
    ("slow start: a link idles until answers come, s", EXACT, closed_forms.slow_start),
    ("n equal transfers over a shared link C: n*B/C, s", EXACT, closed_forms.equal_transfers),
    ("staggered transfers: the last ends as by hand, s", EXACT, closed_forms.staggered_transfers),
    ("devices' own links limit what they take of C, s", EXACT, closed_forms.limited_transfers),
    (
        "a full cell leaves the rest of the server's link to others, s",
        EXACT,
        closed_forms.cell_below_server,
    ),
    ("sum of rates / capacity, at most", 1e-9, closed_forms.sum_of_rates),
    ("work conservation: end of a busy period, s", 1e-9, closed_forms.busy_period),
    ("bytes moved until the deadline cuts a transfer off", 0.0, closed_forms.cut_off),
    ("processor sharing: mean response (M/G/1-PS), s", 0.05, closed_forms.processor_sharing),
    ("one queue: mean response as in Lindley's recursion, s", 1e-9, closed_forms.one_queue),
    ("slowest of K exponential clients: the drawn times, s", 1e-9, closed_forms.slowest_as_drawn),
    ("slowest of K exponential clients: mean * H_K, s", 0.05, closed_forms.slowest_of_k),
    ("first C of K exponential clients (over-selection), s", 0.05, closed_forms.first_of_k),
    ("an arrival at the very deadline counts", 0.0, closed_forms.deadline_tie),
    ("FedBuff: mean staleness = (M - 1) / K (Little)", 0.02, closed_forms.staleness),
    ("on/off availability: share of time online", 0.02, closed_forms.duty),
    ("work of a device that leaves: seconds spent", EXACT, closed_forms.leaving),
    ("rank correlation of two numbers of a device", 0.03, closed_forms.copula),
    ("battery: empty at the analytic instant, s", EXACT, closed_forms.battery_empties),
    ("energy = integral of power, J", EXACT, closed_forms.energy),
)
