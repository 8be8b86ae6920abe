"""The tables of a run's folder, as they were written."""

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from simfl.core.rows import ClientRow, PrivateRoundRow, RoundRow, header
from simfl.core.types import Flags
from simfl.core.words import numbered
from simfl.errors import InputError
from simfl.runs.folder.files import RunFiles
from simfl.runs.folder.folder import CLIENTS, ROUNDS, SUMMARY
from simfl.runs.folder.tables import filled, read_table

if TYPE_CHECKING:
    import pandas as pd


class RunTables(RunFiles):
    """A run's files, and its tables; they are read when they are first needed."""

    @cached_property
    def rounds(self) -> "pd.DataFrame":
        """A row per round; the columns are those of `simfl.core.rows.RoundRow`.

        Before them is round 0 where the model that the run begins with was judged.  The table is
        the reader's, who may change it.
        """
        return self._round_table.copy()

    @cached_property
    def clients(self) -> "pd.DataFrame":
        """A row per participation, as `client_rows`; it is the reader's, who may change it."""
        return self.client_rows.copy()

    @cached_property
    def round_rows(self) -> "pd.DataFrame":
        """A row per aggregation, from round 1 on; else as `rounds`."""
        return self._round_table.iloc[self._first :].reset_index(drop=True)

    @cached_property
    def initial_evaluation(self) -> dict[str, float]:
        """What judging the model gave that the run begins with, as `last_evaluation`.

        Empty: it was not judged, see `evaluation.initial`.
        """
        if not self._first:
            return {}
        first = self._round_table.iloc[0]
        measured = [name for name in first.index if name not in header(PrivateRoundRow)]
        return {name: float(first[name]) for name in ("accuracy", "loss", *measured)}

    @property
    def _first(self) -> int:
        """Where round 1 stands in the table: 1 where round 0 is before it."""
        return int((self._round_table["round"].iloc[:1] == 0).sum())

    @cached_property
    def _round_table(self) -> "pd.DataFrame":
        """What `rounds` is.

        Where a run ended between two evaluations its last model was judged then: the last row has
        that evaluation, which the file, written round by round, has not.
        """
        rounds = self._table(ROUNDS, RoundRow, lambda summary: summary.get("rounds"))
        last = self._evaluation_of_last(rounds)
        for name in last.keys() - {"round"}:
            rounds.loc[rounds.index[-1], name] = math.nan if last[name] is None else last[name]
        return rounds

    @cached_property
    def judged_in_time(self) -> Flags:
        """`(rounds,)` whether each was evaluated as it ended: its loss may be no finite number."""
        return filled(self.folder / ROUNDS, "loss")[self._first :]

    def _evaluation_of_last(self, rounds: "pd.DataFrame") -> dict[str, Any]:
        """Return the run's last evaluation if it is of the last of `rounds`, else nothing."""
        last = self.summary.get("last_evaluation") if self.finished and len(rounds) else None
        return last if last and last["round"] == rounds["round"].iloc[-1] else {}

    @cached_property
    def client_rows(self) -> "pd.DataFrame":
        """A row per participation; the columns are those of `simfl.core.rows.ClientRow`."""
        return self._table(CLIENTS, ClientRow, self._participations)

    def _participations(self, summary: dict[str, Any]) -> int | None:
        counts = summary.get("participations")
        return None if counts is None or self.log == "none" else sum(counts.values())

    def _table(
        self, file: str, row: type, of: Callable[[dict[str, Any]], int | None]
    ) -> "pd.DataFrame":
        """Return a table; of a finished run one with as many rows as the summary tells of.

        Whether it has finished is asked first, as it may end while the table is read.
        """
        told = of(self.summary) if self.finished else None
        table = read_table(self.folder / file, row)
        rows = int((table["round"] > 0).sum())
        if told is not None and rows != told:
            raise InputError(
                f"{self.folder / file} is damaged: it has {numbered(rows, 'row')}, and by "
                f"{SUMMARY} there are {told:,}; `simfl check {self.folder}` says more"
            )
        return table

    def read(self) -> Self:
        """Read every file now, so that a damaged one is told before anything is written."""
        _ = self.scenario, self.provenance, self.finished and self.summary
        _ = self.round_rows, self.client_rows
        return self

    @cached_property
    def devices(self) -> int:
        """How many devices the fleet has."""
        ids = self.client_rows["client"]
        return max(sum(group.count for group in self.fleet), int(ids.max()) + 1 if len(ids) else 0)
