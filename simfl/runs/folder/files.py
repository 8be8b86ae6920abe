"""The files of a run's folder: what it is, and its tables as they were written."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from simfl.core.rows import ClientRow, RoundRow, header
from simfl.core.types import Flags
from simfl.errors import InputError
from simfl.runs.folder.folder import (
    CLIENTS,
    PROVENANCE,
    ROUNDS,
    SCENARIO,
    SUMMARY,
    is_finished,
    read_json,
    resuming,
)
from simfl.runs.folder.lock import is_locked
from simfl.runs.folder.tables import filled, read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RunFiles:
    """The files of a run, finished or not.

    They are read when they are first needed; reading raises `InputError` where one is missing or
    damaged.

    Attributes:
        folder: where they are.
    """

    folder: Path

    def __fspath__(self) -> str:
        """Return the folder: a result can be given for it."""
        return str(self.folder)

    @cached_property
    def scenario_text(self) -> str:
        """The resolved scenario as it is written."""
        try:
            return (self.folder / SCENARIO).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise InputError(f"{self.folder / SCENARIO} can't be read: {error}") from None

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, as plain data."""
        from simfl.scenario.language.yaml import read_yaml

        path = self.folder / SCENARIO
        scenario, _ = read_yaml(self.scenario_text, str(path), lines=False)
        if not isinstance(scenario, dict):
            raise InputError(f"{path} holds no scenario")
        return scenario

    def written(self, *path: str) -> Any:
        """Return what the scenario says at a path, such as `rounds`, `stop` (None: nothing)."""
        return value_at(self.scenario, *path)

    def component(self, *path: str) -> str:
        """Return the name of the component at a path of the scenario ("": there is none)."""
        return component_name(self.written(*path))

    @property
    def holds_data(self) -> bool:
        """Whether clients' samples are the scenario's, not those of another program's clients."""
        return not self.component("data", "dataset").endswith(":Elsewhere")

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """Versions, machine, executor, seed."""
        return read_json(self.folder / PROVENANCE)

    @cached_property
    def contents(self) -> dict[str, str]:
        """Digests of the files that its scenario names, by name (older runs: nothing)."""
        files = self.provenance.get("files")
        return {} if not isinstance(files, dict) else {k: str(v) for k, v in files.items()}

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Totals, targets and digests.

        Raises:
            InputError: the run has not finished.
        """
        if not self.finished:
            state = f"failed {self.failure}" if self.failure else "has not finished"
            raise InputError(f"{self.folder} {state}; go on with `{resuming(self.folder)}`")
        return read_json(self.folder / SUMMARY)

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
        measured = [name for name in first.index if name not in header(RoundRow)]
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
        return sum(counts.values()) if isinstance(counts, dict) and self.log != "none" else None

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
                f"{self.folder / file} is damaged: it has {rows:,} rows, and by {SUMMARY} "
                f"there are {told:,}; `simfl check {self.folder}` says more"
            )
        return table

    def read(self) -> Self:
        """Read every file now, so that a damaged one is told before anything is written."""
        _ = self.scenario, self.provenance, self.finished and self.summary
        _ = self.round_rows, self.client_rows
        return self

    @cached_property
    def finished(self) -> bool:
        """Whether it ended."""
        return is_finished(self.folder)

    @property
    def failure(self) -> str:
        """In which round it failed, and by what ("": it did not, or goes on)."""
        failed = self.provenance.get("failed")
        if self.finished or not isinstance(failed, dict):
            return ""
        return f"in round {failed.get('round')}: {failed.get('error')}"

    @property
    def state(self) -> str:
        """How it is now: `finished`, `running`, `failed` (see `failure`) or `stopped`."""
        if self.finished:
            return "finished"
        if is_locked(self.folder):
            return "running"
        return "failed" if self.failure else "stopped"

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario.get("name", ""))

    @property
    def variant(self) -> str:
        """Which variant of the scenario."""
        return str(self.provenance.get("variant", ""))

    @property
    def seed(self) -> int:
        """Root of its randomness."""
        return int(self.provenance.get("seed", 0))

    @property
    def time_only(self) -> bool:
        """Whether nothing was trained."""
        return bool(self.provenance.get("time_only", False))

    @property
    def log(self) -> str:
        """What was recorded: full, rounds or none; see `Options`."""
        return str(self.provenance.get("log", "full"))

    @property
    def oracle(self) -> bool:
        """Whether its selector saw what no server can know."""
        return bool(self.provenance.get("oracle", False))

    @property
    def powered(self) -> bool:
        """What `Experiment.powered` was; folders older than the word have the fleet."""
        fleet = self.scenario.get("fleet", [])
        return bool(self.provenance.get("powered", len(self._without_power()) < len(fleet)))

    @property
    def unpowered(self) -> list[str]:
        """What `Experiment.unpowered` was; folders older than the word have the fleet."""
        silent = self._without_power() if self.powered else []
        return list(self.provenance.get("unpowered", silent))

    def _without_power(self) -> list[str]:
        fleet, names = self.scenario.get("fleet", []), [name for name, _ in self.groups]
        return [name for name, g in zip(names, fleet, strict=False) if g.get("power") is None]

    @property
    def factors(self) -> dict[str, Any]:
        """What was swept to make it: a path -> its value, as written.

        Where the scenario has variants too, `variant` is the name of its own.
        """
        return dict(self.provenance.get("factors", {}))

    @cached_property
    def groups(self) -> list[tuple[str, int]]:
        """The fleet's groups: name, and id of the first device."""
        groups, first = [], 0
        for index, group in enumerate(self.scenario.get("fleet", [])):
            groups.append((str(group.get("name", f"group-{index}")), first))
            first += int(group.get("count") or 0)
        return groups

    @cached_property
    def devices(self) -> int:
        """How many devices the fleet has."""
        counts = [int(group.get("count") or 0) for group in self.scenario.get("fleet", [])]
        ids = self.client_rows["client"]
        return max(sum(counts), int(ids.max()) + 1 if len(ids) else 0)

    @cached_property
    def targets(self) -> list[float]:
        """What the scenario asks about, as it lists them."""
        from simfl.core.target import parse_target

        return [parse_target(target) for target in self.written("evaluation", "targets") or []]

    @property
    def planned_rounds(self) -> int | None:
        """How many rounds it is to have at most (None: the scenario does not count them)."""
        planned = self.written("rounds", "stop", "rounds")
        return planned if isinstance(planned, int) else None


def value_at(scenario: Mapping[str, Any], *path: str) -> Any:
    """Return what plain data have at a path (None: nothing, or no mapping on the way)."""
    value: Any = scenario
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def component_name(written: Any) -> str:
    """Return the name of a component as scenarios have it: alone, or with options beside it."""
    name = written.get("name") if isinstance(written, dict) else written
    return name if isinstance(name, str) else ""
