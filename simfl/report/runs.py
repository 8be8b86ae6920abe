"""A run folder as a report sees it: finished or not, everything is a fold over its tables."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from simfl.core.rows import ClientRow, Outcome, RoundRow
from simfl.core.types import Floats
from simfl.errors import InputError
from simfl.report.tables import Table, read_table
from simfl.runs.folder import (
    CLIENTS,
    PROVENANCE,
    ROUNDS,
    SCENARIO,
    SUMMARY,
    is_finished,
    is_run,
    read_json,
)
from simfl.runs.summary import gini
from simfl.scenario.yaml import read_yaml

OUTCOMES: tuple[str, ...] = get_args(Outcome)
MOVED = ("download_bytes", "upload_bytes", "probe_bytes")


@dataclass(frozen=True)
class Reached:
    """When an evaluation first gave some accuracy."""

    time_s: float
    round: float
    bytes: float


@dataclass(frozen=True, eq=False)
class RunData:
    """One run, read from its folder.

    Attributes:
        folder: where it is.
        scenario: its resolved scenario, as plain data.
        scenario_text: the same as it is written.
        provenance: versions, machine, executor, seed.
        summary: what the run wrote at its end; None while it has not ended.
        rounds: a row per aggregation; see `simfl.core.rows.RoundRow`.
        clients: a row per participation; see `simfl.core.rows.ClientRow`.
    """

    folder: Path
    scenario: dict[str, Any]
    scenario_text: str
    provenance: dict[str, Any]
    summary: dict[str, Any] | None
    rounds: Table
    clients: Table

    @classmethod
    def load(cls, folder: Path) -> "RunData":
        """Read a run folder.

        Raises:
            InputError: it is none, or a file is missing or damaged.
        """
        if not is_run(folder):
            raise InputError(f"{folder} is not a run folder")
        try:
            text = (folder / SCENARIO).read_text(encoding="utf-8")
            scenario, _ = read_yaml(text, SCENARIO)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder / SCENARIO} can't be read: {error}") from None
        if not isinstance(scenario, dict):
            raise InputError(f"{folder / SCENARIO} holds no scenario")
        return cls(
            folder,
            scenario,
            text,
            read_json(folder / PROVENANCE),
            read_json(folder / SUMMARY) if is_finished(folder) else None,
            read_table(folder / ROUNDS, RoundRow),
            read_table(folder / CLIENTS, ClientRow),
        )

    # What it is -------------------------------------------------------------------------------

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
    def oracle(self) -> bool:
        """Whether its selector saw what no server can know."""
        return bool(self.provenance.get("oracle", False))

    @cached_property
    def groups(self) -> list[tuple[str, int]]:
        """The fleet's groups: name, and id of the first device."""
        found, first = [], 0
        for index, group in enumerate(self.scenario.get("fleet", [])):
            found.append((str(group.get("name", f"group-{index}")), first))
            first += int(group.get("count") or 0)
        return found

    @cached_property
    def devices(self) -> int:
        """How many devices the fleet has."""
        counts = [int(group.get("count") or 0) for group in self.scenario.get("fleet", [])]
        seen = self.clients["client"]
        return max(sum(counts), int(seen.max()) + 1 if len(seen) else 0)

    @cached_property
    def targets(self) -> list[float]:
        """Accuracies that the scenario asks about, lowest first."""
        if self.summary is not None:
            return sorted(float(target) for target in self.summary["targets"])
        from simfl.core.units import Share

        written = self.scenario.get("evaluation", {}).get("targets", [])
        return sorted(Share().parse(target) for target in written)

    # What came of it --------------------------------------------------------------------------

    @property
    def n_rounds(self) -> int:
        """Aggregations made."""
        return len(self.rounds["round"])

    @cached_property
    def end_s(self) -> float:
        """Virtual time at the end (of the last whole round, if the run has not ended)."""
        if self.summary is not None:
            return float(self.summary["virtual_time_s"])
        return float(self.rounds["end_s"][-1]) if self.n_rounds else 0.0

    @cached_property
    def moved(self) -> Floats:
        """`(rounds,)` bytes moved up to the end of each round, probes included."""
        total = np.sum([np.nan_to_num(self.rounds[name]) for name in MOVED], axis=0)
        return np.cumsum(total, dtype=np.float64)

    @cached_property
    def evaluated(self) -> NDArray[np.int64]:
        """Indices of the rounds that ended with an evaluation."""
        return np.flatnonzero(np.isfinite(self.rounds["accuracy"]))

    @property
    def final_accuracy(self) -> float:
        """Of the last evaluation (NaN: there was none)."""
        found = self.rounds["accuracy"][self.evaluated]
        return float(found[-1]) if len(found) else math.nan

    @property
    def best_accuracy(self) -> float:
        """Of all evaluations (NaN: there was none)."""
        found = self.rounds["accuracy"][self.evaluated]
        return float(found.max()) if len(found) else math.nan

    def reached(self, accuracy: float) -> Reached | None:
        """Return when an evaluation first gave `accuracy`; None: it never did."""
        hits = np.flatnonzero(np.nan_to_num(self.rounds["accuracy"], nan=-1.0) >= accuracy)
        if not len(hits):
            return None
        first = int(hits[0])
        return Reached(
            float(self.rounds["end_s"][first]),
            float(self.rounds["round"][first]),
            float(self.moved[first]),
        )

    @cached_property
    def outcomes(self) -> Counter[str]:
        """Participations by what became of them."""
        names, counts = np.unique(self.clients["outcome"], return_counts=True)
        return Counter(dict(zip(names.tolist(), counts.tolist(), strict=True)))

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """`(participations,)` whether its update became part of a model."""
        return np.asarray(self.clients["outcome"] == "arrived")

    @cached_property
    def bytes_by_purpose(self) -> dict[str, float]:
        """Bytes moved: models and updates, each used or wasted, and probes."""
        down, up = self.clients["download_bytes"], self.clients["upload_bytes"]
        return {
            "models, used": float(down[self.used].sum()),
            "updates, used": float(up[self.used].sum()),
            "probes": float(np.nan_to_num(self.rounds["probe_bytes"]).sum()),
            "models, wasted": float(down[~self.used].sum()),
            "updates, wasted": float(up[~self.used].sum()),
        }

    @property
    def total_bytes(self) -> float:
        """Bytes moved in all."""
        return math.fsum(self.bytes_by_purpose.values())

    @property
    def wasted_bytes(self) -> float:
        """Bytes of participations that came to nothing."""
        found = self.bytes_by_purpose
        return found["models, wasted"] + found["updates, wasted"]

    @property
    def wasted_share(self) -> float:
        """Share of all bytes that came to nothing."""
        return self.wasted_bytes / self.total_bytes if self.total_bytes else 0.0

    @cached_property
    def energy_by_purpose(self) -> dict[str, float]:
        """Joules spent by devices at work: on updates that counted, on others, on probes."""
        spent = self.clients["energy_j"]
        used, wasted = math.fsum(spent[self.used]), math.fsum(spent[~self.used])
        unfinished = math.fsum(spent[self.clients["outcome"] == "unfinished"])
        # A round's row has everything, probes too, but not what was cut off after the last one.
        rest = math.fsum(self.rounds["energy_j"]) - (used + wasted - unfinished)
        probes = rest if rest > 1e-9 * (used + wasted) and self._probed else 0.0
        return {"used": used, "wasted": wasted, "probes": probes}

    @property
    def _probed(self) -> bool:
        return bool(np.nan_to_num(self.rounds["probe_bytes"]).any())

    @property
    def total_energy_j(self) -> float:
        """Joules spent in all (0: the scenario does not account for power)."""
        return math.fsum(self.energy_by_purpose.values())

    @cached_property
    def deadline_s(self) -> float:
        """The deadline of its rounds, if they all had the same (else NaN)."""
        found = self.rounds["deadline_s"]
        same = len(found) > 0 and bool(np.isfinite(found).all()) and bool((found == found[0]).all())
        return float(found[0]) if same else math.nan

    @cached_property
    def normalised_round(self) -> float:
        """Mean time to the last arrival of a round by its deadline, as in FedCore's Table 1.

        NaN: no round had a deadline.
        """
        timed = np.isfinite(self.rounds["deadline_s"])
        if not timed.any():
            return math.nan
        start = self.rounds["start_s"][timed]
        last = self.rounds["last_arrival_s"][timed]
        times = np.where(np.isfinite(last), last - start, 0.0) / self.rounds["deadline_s"][timed]
        return float(times.mean())

    @cached_property
    def durations_s(self) -> Floats:
        """`(participations,)` from selection to arrival (NaN: never arrived)."""
        taken: Floats = self.clients["upload_end_s"] - self.clients["selected_s"]
        return np.where(self.used, taken, np.nan)

    @cached_property
    def participations(self) -> NDArray[np.int64]:
        """`(devices,)` how often each device's update counted."""
        heard = self.clients["client"][self.used].astype(np.int64)
        return np.bincount(heard, minlength=self.devices)

    @cached_property
    def gini(self) -> float:
        """Gini coefficient of `participations` (NaN: nobody was heard)."""
        counts = self.participations[self.participations > 0].tolist()
        return gini(counts, self.devices) if counts else math.nan


def variants(runs: Sequence[RunData]) -> dict[str, list[RunData]]:
    """Return runs by variant, in the order in which variants first come; seeds inside.

    Runs of several scenarios are told apart by the scenario's name.
    """
    several = len({run.name for run in runs}) > 1
    groups: dict[str, list[RunData]] = {}
    for run in runs:
        groups.setdefault(f"{run.name}/{run.variant}" if several else run.variant, []).append(run)
    return groups
