"""What makes numbers of runs other than they look: told beside them, on the page and in tables.

Here are all of these caveats, by heading.
"""

from collections.abc import Sequence

from simfl.core.words import owners
from simfl.report import formats
from simfl.report.caveats import cadence, mishaps, side_by_side
from simfl.report.formats import SOME
from simfl.runs.results.grouping import Groups

NAMED = (
    "Diverged", "Never counted", "No round", "Ended early", "Abandoned rounds",
    "Last round cut off", "Too little memory", "Cut off",
)  # fmt: skip
"""Headings of caveats that begin with a variant's name."""
NOT_MEANT = "Perhaps not meant"
"""Heading of those that begin with a key of a scenario, and say nothing without it."""


def caveats(
    groups: Groups,
    targets: Sequence[float] | None = None,
    *,
    energy: bool,
    rounds: float,
    waste: bool,
) -> dict[str, list[str]]:
    """Return what makes numbers of `groups` other than they look, by heading.

    Args:
        groups: the runs, by variant.
        targets: those asked about (None: the scenarios').
        energy: whether energies are told.
        rounds: how many times the updates of others make rounds so unequal that numbers of rounds
            mislead (infinite: none are compared).
        waste: whether wasted bytes are told.
    """
    return {
        "Diverged": mishaps.diverged(groups),
        "Never counted": mishaps.unheard(groups),
        "No round": mishaps.roundless(groups),
        "Ended early": mishaps.ended_early(groups),
        "Abandoned rounds": mishaps.abandoned(groups),
        "Last round cut off": mishaps.after_last_round(groups),
        "Over budget": mishaps.overspent(groups),
        "Too little memory": mishaps.short_of_memory(groups),
        NOT_MEANT: not_meant(groups),
        "Not of one thing": side_by_side.unlike(groups),
        "Looked at unequally": cadence.seen_unequally(groups, targets),
        "Looked at seldom": cadence.seen_late(groups, targets),
        "Never looked at": cadence.never_judged(groups, targets),
        "Unequal rounds": side_by_side.unequal_rounds(groups, rounds),
        "Energy in part": side_by_side.unpowered(groups) if energy else [],
        "Cut off": mishaps.cut_off(groups) if waste else [],
        "Alike": side_by_side.alike(groups),
    }


def not_meant(groups: Groups) -> list[str]:
    """Say what of the scenarios may not be what was meant, and whose."""
    cautions = {n: map(str, runs[0].provenance.get("cautions", [])) for n, runs in groups.items()}
    return [
        f"{line}{'' if len(names) == len(groups) else f' ({formats.listed(names, SOME)})'}."
        for line, names in owners(cautions).items()
    ]
