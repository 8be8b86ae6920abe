"""Why a run took as long as it did, and what would have shortened it: what `simfl explain` does."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from simfl.core.arguments import called
from simfl.errors import InputError
from simfl.runs.folder.eventlog import finite
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.results.anatomy import Anatomy
from simfl.runs.results.critical_path import NOBODY, PHASES
from simfl.runs.results.participations import Participation, participations_of
from simfl.runs.results.result import RunResult
from simfl.runs.what_if.changes import policy_of
from simfl.runs.what_if.counterfactuals import CHEAP, Counterfactual, WhatIf, counterfactuals

UNFINISHED = "unfinished"
"""What the time after the last round is called, in which devices may well have been at work."""
NOT_ASKED = "not asked for"
"""Why nothing was computed of what would have shortened it, where that was not wanted."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a run, or one of its rounds, took as long as it did.

    Attributes:
        run: the run.
        round: which of its rounds (None: all of it).
        start_s: virtual time at which what is explained begins.
        end_s: when it ends.
        phases_ns: nanoseconds of each of `PHASES`, and of a whole run `UNFINISHED`, in all exactly
            those from start to end.
        critical: clients that rounds waited for last, most often first, and how many rounds each;
            of one round the client whose update counted last in it.
        outcomes: participations by what became of them, of one round those selected in it: some may
            have arrived in later ones.
        participations: those selected in one round, those that came to nothing first (all of a run:
            none).
        deadline_s: what ended the round, from when its orders went out (NaN: something else did).
        rounds_by_deadline: how many rounds ended so.
        what_if: what would have shortened it.
        why_none: why nothing of that was computed ("": it was).
    """

    run: RunResult
    round: int | None
    start_s: float
    end_s: float
    phases_ns: Mapping[str, int]
    critical: Sequence[tuple[int, int]]
    outcomes: Mapping[str, int]
    participations: Sequence[Participation] = ()
    deadline_s: float = math.nan
    rounds_by_deadline: int = 0
    what_if: WhatIf = field(default_factory=WhatIf)
    why_none: str = ""

    @property
    def elapsed_ns(self) -> int:
        """How long it took."""
        return sum(self.phases_ns.values())

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return {
            "folder": str(self.run.folder),
            "round": self.round,
            "start_s": self.start_s,
            "end_s": self.end_s,
            "elapsed_ns": self.elapsed_ns,
            "phases_ns": dict(self.phases_ns),
            "after_last_round_ns": self.phases_ns.get(UNFINISHED, 0),
            "critical_clients": [{**self._client(c), "rounds": n} for c, n in self.critical],
            "outcomes": dict(self.outcomes),
            "participations": finite(
                [{**self._client(part.client), **asdict(part)} for part in self.participations]
            ),
            "ended_by_deadline_s": finite(self.deadline_s),
            "rounds_ended_by_deadline": self.rounds_by_deadline,
            "shortened_by": [_plain(case) for case in self.what_if.cases],
            "lost_share_unchanged": finite(self.what_if.lost),
            "why_not_computed": self.why_none,
        }

    def _client(self, client: int) -> dict[str, Any]:
        """Return the number of a client, and its name where the data set has given it one."""
        name = self.run.client_name(client)
        return {"client": client, "name": name} if name else {"client": client}


def _plain(case: Counterfactual) -> dict[str, Any]:
    return {
        "change": case.change.name,
        "set": list(case.change.sets),
        "time_s": finite(case.time_s),
        "lost_share": finite(case.lost),
        "why_not": case.why_not,
    }


def explain(
    run: RunResult,
    round_: int | None = None,
    *,
    what_if: bool | None = None,
    options: Options | None = None,
    watch: Watch | None = None,
) -> Explanation:
    """Return why `run`, or one of its rounds, took as long as it did.

    Args:
        run: finished or not.
        round_: only this round (None: all of the run).
        what_if: whether its clock is run again with one thing changed at a time (None: if that is
            cheap).
        options: where the data lie, for that.
        watch: is told how far that is.

    Raises:
        InputError: there is no such round, its clock alone is to run again, or a file of the run is
            damaged.
    """
    if round_ is not None and what_if:
        again, only = called("--what-if", "what_if"), called("--round", "round_")
        raise InputError(f"{again} runs the clock of a whole run again; leave out {only}")
    anatomy = Anatomy.of(run)
    if round_ is not None:
        return _of_round(run, anatomy, round_)
    why = _why_none(run, what_if)
    tried = WhatIf() if why else counterfactuals(run, options, watch)
    totals = anatomy.phases_ns[:-1].sum(axis=0).tolist()
    unfinished_ns = int(anatomy.phases_ns[-1].sum())
    return Explanation(
        run,
        round=None,
        start_s=0.0,
        end_s=run.end_s,
        phases_ns=dict(zip(PHASES, totals, strict=True)) | {UNFINISHED: unfinished_ns},
        critical=anatomy.critical(),
        outcomes=run.outcomes,
        rounds_by_deadline=int(anatomy.by_deadline.sum()),
        what_if=tried,
        why_none=why,
    )


def _why_none(run: RunResult, what_if: bool | None) -> str:
    """Return why it is not tried what would have shortened a run ("": it is)."""
    if what_if is False:
        return NOT_ASKED
    if not run.n_rounds:
        return "no round has ended"
    if what_if is None and len(run.client_rows) > CHEAP:
        asked = called("--what-if", "what_if=True")
        return f"more than {CHEAP:,} participations take a while; {asked} computes it"
    try:
        policy_of(run)
    except InputError as error:
        return f"the clock alone can't run again: {error}"
    return ""


def _of_round(run: RunResult, anatomy: Anatomy, round_: int) -> Explanation:
    """Return why one round took as long as it did.

    Raises:
        InputError: there is no such round.
    """
    rounds = run.of_rounds("round").tolist()
    if round_ not in rounds:
        it_has = "it ended without any" if run.finished else "none has ended yet"
        it_has = f"its rounds: 1 to {rounds[-1]}" if rounds else it_has
        raise InputError(f"{run.folder} has no round {round_}; {it_has}")
    place = rounds.index(round_)
    own = run.of_clients("outcome")[run.of_clients("round") == round_]
    client, by_deadline = int(anatomy.clients[place]), bool(anatomy.by_deadline[place])
    outcomes, counts = np.unique(own, return_counts=True)
    return Explanation(
        run,
        round=round_,
        start_s=float(run.of_rounds("end_s")[place - 1]) if place else 0.0,
        end_s=float(run.of_rounds("end_s")[place]),
        phases_ns=dict(zip(PHASES, anatomy.phases_ns[place].tolist(), strict=True)),
        critical=[] if client == NOBODY else [(client, 1)],
        outcomes=dict(zip(outcomes.tolist(), counts.tolist(), strict=True)),
        participations=participations_of(run, round_),
        deadline_s=float(run.of_rounds("deadline_s")[place]) if by_deadline else math.nan,
        rounds_by_deadline=int(by_deadline),
        why_none="only of whole runs",
    )
