"""The kinds of quantities that scenarios have, and the units that fit each."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    """A kind of quantity.

    Attributes:
        name: what messages call it, with its article.
        base: the unit of the float it is kept as.
        units: what fits, small to large; values are written in one of these.
        example: shown where something else was found.
        positive: whether zero makes no sense; then what is below 1 / `largest` does not either.
        largest: in base units, beyond which a number is a slip of the pen.
        sum_example: how one in several units is written ("": it never is).
    """

    name: str
    base: str
    units: tuple[str, ...]
    example: str
    positive: bool = False
    largest: float = 1e18
    sum_example: str = ""


LATEST_S = 4e12
"""The last instant that a clock in double precision tells to the millisecond: 127,000 years."""

SHORTEST_S = 1e-6
"""The shortest time after which something may happen again and again: the clock would hardly move
by shorter ones, and there are too many of them to count on a long clock."""

DURATION = Dimension(
    "a duration",
    "s",
    ("us", "ms", "s", "min", "h", "d"),
    "30 s",
    largest=LATEST_S,
    sum_example="1 h 30 min",
)
DATA_RATE = Dimension(
    "a data rate", "bit/s", ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"), "10 Mbit/s", positive=True
)
DATA_SIZE = Dimension(
    "a data size", "B", ("B", "kB", "KiB", "MB", "MiB", "GB", "GiB", "TB", "TiB"), "512 MiB"
)
SAMPLE_RATE = Dimension(
    "a compute rate", "samples/s", ("samples/s",), "100 samples/s", positive=True
)
FLOP_RATE = Dimension(
    "a compute rate",
    "FLOP/s",
    ("FLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s"),
    "3 GFLOP/s",
    positive=True,
    largest=1e24,
)
SAMPLE_TIME = Dimension(
    "a time per sample", "s/sample", ("us/sample", "ms/sample", "s/sample"), "20 ms/sample",
    positive=True,
)  # fmt: skip
POWER = Dimension("a power", "W", ("mW", "W", "kW"), "2.5 W")
ENERGY = Dimension("an energy", "J", ("J", "kJ", "mWh", "Wh", "kWh"), "12 Wh")

DIMENSIONS = (DURATION, DATA_RATE, DATA_SIZE, SAMPLE_RATE, FLOP_RATE, SAMPLE_TIME, POWER, ENERGY)

COMPUTE = (SAMPLE_RATE, FLOP_RATE, SAMPLE_TIME)
"""The ways of saying how fast a device computes."""
