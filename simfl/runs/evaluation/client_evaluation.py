"""How well a final model serves each client: the spread over clients, and a row per client."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simfl.core.types import Flags, Floats
from simfl.core.words import group_names
from simfl.runs.evaluation.fine_tune import FineTuning
from simfl.runs.folder.eventlog import finite
from simfl.runs.results.result import RunResult

if TYPE_CHECKING:
    import pandas as pd

EVERYBODY, HEARD, NEVER_HEARD = "everybody", "heard", "never heard"
"""Whom a model serves, beside the groups of the fleet."""


@dataclass(frozen=True)
class Spread:
    """How well some clients are served; unless said otherwise each counts alike.

    Attributes:
        whom: they are: everybody, a group by its name (`group heard`, if that is what it is
            called), or who was heard or never.
        clients: how many.
        mean: of their accuracies, or of their losses where the loss knows no right answers.
        pooled: over all their samples, each counting alike: clients with many count for more.
        std: the standard deviation over clients.
        worst_tenth: the mean over the tenth of them (one at least) that is served worst.
        best_tenth: and best.
    """

    whom: str
    clients: int
    mean: float
    pooled: float
    std: float
    worst_tenth: float
    best_tenth: float


@dataclass(frozen=True)
class FineTunedSpread(Spread):
    """How well some clients are served by what each has made of the model on its own samples.

    Attributes:
        change: the mean over clients of what this adds to what each had before.
        worse: how many are served worse than before.
    """

    change: float
    worse: int


@dataclass(frozen=True, eq=False)
class ClientEvaluation:
    """How well the final model of a run serves its clients.

    Attributes:
        run: the run.
        clients: a row per client that holds samples: `client`, `name` (what the data set calls it;
            only where it says), `group`, `participations` (updates
            of it that counted; -1: not recorded), `samples` it was judged on, `accuracy` (NaN: the
            loss knows no right answers), `loss`, and a column for each of the scenario's metrics;
            then, of the fine-tuned model, the same again: `fine_tuned_accuracy` and so on.
        kept_aside: whether clients were judged on samples that they keep aside
            (``data.local_validation``); else, and who has too few for that, on those they train on.
        fine_tuning: how each client has fine-tuned the model (None: nobody has).
    """

    run: RunResult
    clients: "pd.DataFrame"
    kept_aside: bool
    fine_tuning: FineTuning | None = None

    @property
    def personal(self) -> bool:
        """Whether each client has a model of its own: its shared layers and its personal ones."""
        return bool(self.run.written("model", "personal"))

    @property
    def measure(self) -> str:
        """What tells how well a client is served: `accuracy`, or `loss` where there is none."""
        return "loss" if self.clients["accuracy"].isna().all() else "accuracy"

    @property
    def spreads(self) -> list[Spread]:
        """How well everybody is served, then each group, then those who were heard or never."""
        return self._spreads(self._values())

    @property
    def fine_tuned_spreads(self) -> list[FineTunedSpread]:
        """The same of the fine-tuned models (none: nobody has any)."""
        if self.fine_tuning is None:
            return []
        before, after = self._values(), self._values("fine_tuned_")
        worse = ~(after <= before) if self.measure == "loss" else ~(after >= before)
        with np.errstate(invalid="ignore"):  # losses of a training that diverged have no mean
            return [
                FineTunedSpread(
                    **vars(spread),
                    change=float((after - before)[who].mean()),
                    worse=int(worse[who].sum()),
                )
                for spread, (_, who) in zip(self._spreads(after), self._classes(), strict=True)
            ]

    def _values(self, prefix: str = "") -> Floats:
        """Return `(clients,)` how well each is served."""
        return self.clients[f"{prefix}{self.measure}"].to_numpy(np.float64)

    def _spreads(self, values: Floats) -> list[Spread]:
        samples = self.clients["samples"].to_numpy(np.float64)
        worst_first = -values if self.measure == "loss" else values
        order = np.argsort(worst_first, kind="stable")
        return [
            _spread(whom, values[order][who[order]], samples[order][who[order]])
            for whom, who in self._classes()
        ]

    def _classes(self) -> Iterator[tuple[str, Flags]]:
        groups = self.clients["group"].to_numpy()
        heard = self.clients["participations"].to_numpy()
        yield EVERYBODY, np.ones(len(groups), dtype=np.bool_)
        names = [name for name, _ in self.run.groups if (groups == name).any()]
        if len(names) > 1:
            told = group_names(names, (EVERYBODY, HEARD, NEVER_HEARD))
            yield from ((as_, groups == name) for as_, name in zip(told, names, strict=True))
        if (heard > 0).any() and (heard == 0).any():
            yield HEARD, heard > 0
            yield NEVER_HEARD, heard == 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        plain: dict[str, Any] = finite(
            {
                "folder": str(self.run.folder),
                "kept_aside": self.kept_aside,
                "personal": self.personal,
                "measure": self.measure,
                "spreads": [dict(vars(spread)) for spread in self.spreads],
                "fine_tuning": self._fine_tuning,
                "clients": self.clients.to_dict("records"),
            }
        )
        return plain

    @property
    def _fine_tuning(self) -> dict[str, Any] | None:
        if self.fine_tuning is None:
            return None
        spreads = [dict(vars(spread)) for spread in self.fine_tuned_spreads]
        return {**vars(self.fine_tuning), "spreads": spreads}


def _spread(whom: str, values: Floats, samples: Floats) -> Spread:
    """Return how well clients are served that are given worst first."""
    tenth = math.ceil(len(values) / 10)
    with np.errstate(invalid="ignore"):  # losses of a training that diverged have none
        std = float(values.std())
    return Spread(
        whom=whom,
        clients=len(values),
        mean=float(values.mean()),
        pooled=float(np.average(values, weights=samples)),
        std=std,
        worst_tenth=float(values[:tenth].mean()),
        best_tenth=float(values[-tenth:].mean()),
    )
