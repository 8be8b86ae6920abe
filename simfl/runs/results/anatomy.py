"""Anatomy of a run: what its virtual time went to, along what each round waited for.

Rounds follow their critical paths (see `critical_path`).  All times are whole nanoseconds, so they
add up exactly.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simfl.core.arguments import called
from simfl.core.types import Flags, Floats, Ids
from simfl.errors import InputError
from simfl.runs.results.by_deadline import ended_by_deadline
from simfl.runs.results.critical_path import NOBODY, WAIT, Paths
from simfl.runs.results.result import RunResult

NANOSECONDS_END_S = 9e9
"""Some 285 years: 64 bits count nanoseconds for so long."""


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Where the virtual time of one run went.

    Attributes:
        phases_ns: `(rounds + 1, 6)` nanoseconds of `PHASES` since the end of the round before; the
            last row is what came after the last round.
        clients: `(rounds,)` the critical client: the last whose update counted (`NOBODY`: none did,
            or it had come before the round before ended, as while the server was busy).
        by_deadline: `(rounds,)` which rounds ended because it was time, so that nobody was waited
            for in the end.
    """

    phases_ns: NDArray[np.int64]
    clients: Ids
    by_deadline: Flags

    @classmethod
    def of(cls, run: RunResult) -> "Anatomy":
        """Take the time of a run apart.

        Raises:
            InputError: a file of the run is missing or damaged, or says nothing of its clients.
        """
        if run.end_s > NANOSECONDS_END_S:
            raise InputError(
                f"{run.folder} lasts longer than {NANOSECONDS_END_S:g} s of virtual time, which is "
                "too much for nanoseconds"
            )
        if run.log == "none":
            again = called(
                "--overwrite and --log rounds or full",
                "overwrite=True and log='rounds' or log='full'",
            )
            raise InputError(
                f"{run.folder} was recorded with --log none, which says nothing of what its "
                f"clients did; run it again with {again}"
            )
        paths = Paths(run)
        ends = [0, *(min(end, paths.end) for end in paths.round_ends)]
        rounds = zip(ends, ends[1:], paths.round_starts, run.last_counted.tolist(), strict=False)
        rows = [paths.walk(*one) for one in rounds]
        tail = paths.pause(ends[-1], paths.end, WAIT)
        phases = np.array([*(row for row, _ in rows), tail], dtype=np.int64)
        clients = np.array([client for _, client in rows], dtype=np.int64)
        return cls(phases, clients, ended_by_deadline(run))

    @property
    def elapsed_ns(self) -> int:
        """The sum of all phases: the run's virtual time."""
        return int(self.phases_ns.sum())

    @property
    def rounds_s(self) -> Floats:
        """`(rounds, 6)` seconds of `PHASES` by round."""
        return np.asarray(self.phases_ns[:-1] / 1e9)

    def critical(self, most: int = 5) -> list[tuple[int, int]]:
        """Return the clients that most rounds waited for last, and how many rounds each."""
        waited = self.clients[(self.clients != NOBODY) & ~self.by_deadline]
        clients, counts = np.unique(waited, return_counts=True)
        ranked = np.lexsort((clients, -counts))[:most]
        return [(int(clients[at]), int(counts[at])) for at in ranked]
