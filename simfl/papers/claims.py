"""What a paper claims of its rows, and whether measured numbers agree."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from simfl.papers.measures import Record
from simfl.runs.results.paired import Ratio, Times, paired_difference, paired_ratio
from simfl.runs.results.statistics import Figure

_TERM = re.compile(r"(?:(?P<times>[\d.]+) \* )?(?P<row>[^\s,*<]+)(?: (?P<plus>[+-] [\d.]+))?")


@dataclass(frozen=True)
class Term:
    """A row's number, times a factor, plus a constant."""

    row: str
    times: float = 1.0
    plus: float = 0.0


class Verdict(StrEnum):
    """What became of a claim, in words; what chance may have ordered so does not hold."""

    NOT_MEASURED = "not measured"
    FAILS = "DOES NOT HOLD"
    BY_CHANCE = "so ordered, not told from chance"
    NOT_COMPARABLE = "so ordered, not comparable seed by seed"
    ONE_SEED = "so ordered, one seed"
    HOLDS = "holds"


@dataclass(frozen=True)
class Claim:
    """An ordering of rows: ``FedCor < pow-d < AFL, uniform``, ``2 * FedACS < baseline``.

    Every row of a group is below every row of the next one.

    Attributes:
        text: as written.
        groups: of terms, the lowest first.
        measure: what it is about, where ``MEASURE: `` goes before it (None: the item's first).
    """

    text: str
    groups: tuple[tuple[Term, ...], ...]
    measure: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Claim":
        """Return the claim that `text` means.

        Raises:
            ValueError: it means none.
        """
        measure, colon, ordering = text.rpartition(": ")
        groups = tuple(
            tuple(_term(part.strip(), text) for part in group.split(","))
            for group in ordering.split(" < ")
        )
        if len(groups) < 2:
            raise ValueError(f"{text!r} is no ordering; expected such as 'FedCor < pow-d'")
        return cls(text, groups, measure if colon else None)

    @property
    def rows(self) -> list[str]:
        """The rows it is about."""
        return [term.row for group in self.groups for term in group]

    def holds(self, records: Sequence[Record]) -> bool | None:
        """Return whether the medians over the seeds that all its rows have are so ordered.

        None: there is no such seed.
        """
        seeds = [{record.seed for record in records if record.row == row} for row in self.rows]
        shared = [record for record in records if record.seed in set.intersection(*seeds)]
        if not shared:
            return None
        numbers = {row: median(shared, row) for row in self.rows}
        sides = [[t.times * numbers[t.row] + t.plus for t in group] for group in self.groups]
        return all(max(below) < min(above) for below, above in pairwise(sides))

    def told(self, records: Sequence[Record], by_seed: Sequence[Record] | None = None) -> Verdict:
        """Return the verdict: of an ordering that of its least certain step.

        Args:
            records: what the claim is about.
            by_seed: the same of each seed by itself, where `records` is of all seeds together.
        """
        held = self.holds(records)
        if not held:
            return Verdict.NOT_MEASURED if held is None else Verdict.FAILS
        steps = [_of_step(below, above, by_seed or records) for below, above in self.steps()]
        return min(steps, key=list(Verdict).index)

    def steps(self) -> list[tuple[Term, Term]]:
        """Return each row of a group with each row of the next one."""
        return [
            (below, above)
            for lower, upper in pairwise(self.groups)
            for below in lower
            for above in upper
        ]


def _of_step(below: Term, above: Term, records: Sequence[Record]) -> Verdict:
    """Return whether the paired interval of two rows that are so ordered is on the claim's side."""
    if len(_by_seed(records, below.row).keys() & _by_seed(records, above.row).keys()) < 2:
        return Verdict.ONE_SEED
    numbers = paired(records, below.row, above.row)
    if numbers is None or numbers.interval is None:
        return Verdict.NOT_COMPARABLE
    if isinstance(numbers, Ratio):  # says nothing of constants, as a difference of factors
        known = below.plus == above.plus and not numbers.coincident
        sure = known and numbers.interval.low > below.times / above.times
    else:
        plain = below.times == above.times == 1
        sure = plain and numbers.interval.low > below.plus - above.plus
    return Verdict.HOLDS if sure else Verdict.BY_CHANCE


def _term(part: str, text: str) -> Term:
    form = _TERM.fullmatch(part)
    if form is None:
        raise ValueError(f"{text!r}: {part!r} is no row, with a factor or a constant")
    plus = float((form["plus"] or "0").replace(" ", ""))
    return Term(form["row"], float(form["times"] or 1), plus)


def values(records: Sequence[Record], row: str) -> list[float | None]:
    """Return what each seed of `row` has; None: never got there."""
    return [record.value for record in records if record.row == row]


def seeds_of(records: Sequence[Record], row: str) -> int:
    """Return of how many seeds the numbers of `row` are."""
    return len({seed for record in records if record.row == row for seed in record.seed.split()})


def median(records: Sequence[Record], row: str) -> float:
    """Return the median over seeds, never counting as infinite (NaN: not measured)."""
    return Figure.of(values(records, row)).median


def paired(records: Sequence[Record], below: str, above: str) -> Ratio | Figure | None:
    """Return how many times as much `above` has as `below`, or by how much more, seed by seed.

    A ratio of costs until a target, a difference of anything else.  None: no seed has both.
    """
    own = [_by_seed(records, row) for row in (above, below)]
    if not all(own):
        return None
    if any(record.followed is not None for record in records):
        return paired_ratio(*[_times(of_row) for of_row in own])
    more, less = [
        {seed: r.value for seed, r in of_row.items() if r.value is not None} for of_row in own
    ]
    return paired_difference(more, less)


def _by_seed(records: Sequence[Record], row: str) -> Mapping[int, Record]:
    return {int(r.seed): r for r in records if r.row == row and r.seed.isdigit()}


def _times(records: Mapping[int, Record]) -> Times:
    return Times(
        {seed: record.value for seed, record in records.items()},
        {seed: record.followed or math.nan for seed, record in records.items()},
        in_steps=True,
    )
