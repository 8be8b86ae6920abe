"""What came of a run, read from its folder: the same for a new run and for one of last year."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simfl.errors import InputError
from simfl.runs.folder import CLIENTS, PROVENANCE, ROUNDS, SUMMARY, is_run, read_json

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """A run folder, as tables.

    Attributes:
        folder: where it is.
    """

    folder: Path

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Totals, targets and digests.

        Raises:
            InputError: the run has not finished.
        """
        if not (self.folder / SUMMARY).exists():
            raise InputError(
                f"{self.folder} has not finished; go on with `simfl resume {self.folder}`"
            )
        return read_json(self.folder / SUMMARY)

    @property
    def targets(self) -> list[float]:
        """The accuracies that the scenario asks about."""
        return sorted(float(target) for target in self.summary["targets"])

    @property
    def total_bytes(self) -> int:
        """Bytes moved in all, probes included."""
        totals = self.summary["totals"]
        return int(sum(totals[name] for name in ("download_bytes", "upload_bytes", "probe_bytes")))

    def reached(self, accuracy: float) -> dict[str, float] | None:
        """Return when an evaluation first gave `accuracy`, or None.

        The keys are `time_s`, `round`, `bytes` and `energy_j`.
        """
        for target, at in self.summary["targets"].items():
            if float(target) == accuracy:
                return at and dict(at)
        rounds = self.rounds
        hits = rounds.index[rounds.accuracy >= accuracy]
        if not len(hits):
            return None
        first = rounds.loc[hits[0]]
        columns = ["download_bytes", "upload_bytes", "probe_bytes", "energy_j"]
        spent = rounds.loc[: hits[0], columns].sum()
        return {
            "time_s": float(first.end_s),
            "round": float(first["round"]),
            "bytes": float(spent[columns[:3]].sum()),
            "energy_j": float(spent["energy_j"]),
        }

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Versions, machine, executor, seed."""
        return read_json(self.folder / PROVENANCE)

    @cached_property
    def rounds(self) -> "pd.DataFrame":
        """A row per round; the columns are those of `simfl.core.rows.RoundRow`."""
        return self._table(ROUNDS)

    @cached_property
    def clients(self) -> "pd.DataFrame":
        """A row per participation; the columns are those of `simfl.core.rows.ClientRow`."""
        return self._table(CLIENTS)

    def _table(self, name: str) -> "pd.DataFrame":
        import pandas as pd

        return pd.read_csv(self.folder / name)


def load(folder: str | Path) -> Result:
    """Return the result in a run folder.

    Raises:
        InputError: it is not one.
    """
    if not is_run(Path(folder)):
        raise InputError(f"{folder} is not a run folder")
    return Result(Path(folder))
