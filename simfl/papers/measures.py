"""What is written down of an item's runs: one number per row, measure and seed, with its origin."""

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from simfl.core.costs import Unit
from simfl.core.files import write_output
from simfl.errors import InputError
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.metric import (
    ACCURACY,
    BYTES,
    ENERGY,
    NORMALISED,
    ON_REQUEST,
    ROUNDS,
    TERMINAL,
    TIME,
    Metric,
)
from simfl.runs.results.result import RunResult

METRICS = {
    metric.name: metric
    for metric in (ACCURACY, TERMINAL, ROUNDS, TIME, BYTES, ENERGY, NORMALISED, *ON_REQUEST)
}
_FORM = re.compile(r"(\w+)(?: to ([\d.]+)%( of the (smoothed )?mean curve)?)?")


@dataclass(frozen=True)
class Record:
    """One line of an item's CSV.

    Attributes:
        paper: whose.
        item: which of its tables or figures.
        row: of the table: the variant.
        column: of the table: the measure.
        seed: of the run, or of all runs that the number is of, blanks between.
        value: in `unit` (None: the run never got there).
        followed: where `value` is a cost: so far a run that never got there was followed.
        unit: of both: share, time (s), bytes, energy (J), count, ratio or number.
        reading: ``paper``, ``code`` or ``ours``, see `Item`.
        commit: of simfl, where it was run from a checkout.
        version: of simfl.
        machine: what it ran on.
        scenario_sha256: of the run's resolved scenario (of the first run).
    """

    paper: str
    item: str
    row: str
    column: str
    seed: str
    value: float | None
    followed: float | None
    unit: Unit
    reading: str
    commit: str
    version: str
    machine: str
    scenario_sha256: str


@dataclass(frozen=True)
class Measure:
    """A measure of a row's runs.

    Attributes:
        text: as written: a metric, ``METRIC to 90%``, ``rounds to 90% of the mean curve`` or ``of
            the smoothed mean curve``.
        metric: what is measured.
        target: the accuracy until which (None: of the whole run).
        mean_curve: whether it is read off the mean over seeds, as FL-DP3S does.
        smoothed: whether that curve's points are means of three, read at the middle one.
    """

    text: str
    metric: Metric
    target: float | None = None
    mean_curve: bool = False
    smoothed: bool = False

    @classmethod
    def parse(cls, text: str) -> "Measure":
        """Return the measure that `text` means.

        Raises:
            ValueError: there is none such.
        """
        form = _FORM.fullmatch(text)
        metric = METRICS.get(form[1]) if form else None
        if form is None or metric is None or (form[2] is not None and not metric.cost):
            raise ValueError(f"unknown measure {text!r}; there are {', '.join(METRICS)}")
        target = None if form[2] is None else float(form[2]) / 100
        return cls(text, metric, target, form[3] is not None, form[4] is not None)

    def of(self, runs: Sequence[RunResult]) -> tuple[str, float | None, float | None]:
        """Return seeds, value, and how far one that never got there was followed.

        Args:
            runs: one, or all of a row for a mean curve.
        """
        if self.mean_curve:
            return " ".join(str(run.seed) for run in runs), *self._of_mean_curve(runs)
        [run] = runs
        if self.target is None:
            whole = self.metric.of(run)
            return str(run.seed), None if math.isnan(whole) else whole, None
        return str(run.seed), self.metric.until(run, self.target), self.metric.followed(run)

    def settled(self, run: RunResult) -> bool:
        """Return whether what an interrupted run would still do can't change its value."""
        reaches = self.target is not None and not self.mean_curve
        return run.finished or (reaches and self.metric.until(run, self.target) is not None)

    def _of_mean_curve(self, runs: Sequence[RunResult]) -> tuple[float | None, float]:
        """Return the first round at which the mean of all curves is at the target, and the last."""
        assert self.target is not None
        judged = [run.of_rounds("round")[run.evaluated] for run in runs]
        rounds = reduce(np.intersect1d, judged)
        curves = [
            run.of_rounds("accuracy")[run.evaluated][np.isin(own, rounds)]
            for run, own in zip(runs, judged, strict=True)
        ]
        curve = np.mean(curves, axis=0)
        if self.smoothed and len(rounds) >= 3:
            rounds, curve = rounds[1:-1], np.convolve(curve, np.full(3, 1 / 3), "valid")
        elif self.smoothed:
            return None, float(rounds[-1]) if len(rounds) else 0.0
        hits = np.flatnonzero(np.round(curve, 12) >= self.target)
        last = float(rounds[-1]) if len(rounds) else 0.0
        return (float(rounds[hits[0]]) if len(hits) else None), last


def records(
    name: str, reading: str, texts: Sequence[str], runs: Sequence[RunResult]
) -> list[Record]:
    """Return what is written down of the runs of the item `name`, ``PAPER/ITEM``.

    Of a seed with interrupted runs only what would be so whatever they still do, in each row:
    those that are quick to get somewhere would else stand for all.
    """
    paper, _, item = name.partition("/")
    measures, written = [*map(Measure.parse, texts)], []
    left_out = {(m, run.seed) for run in runs for m in measures if not m.settled(run)}
    for row, all_own in by_variant(runs).items():
        for measure in measures:
            own = [run for run in all_own if (measure, run.seed) not in left_out]
            together = [own] if own and measure.mean_curve else []
            for part in together or [[run] for run in own]:
                seed, value, followed = measure.of(part)
                identity = (paper, item, row, measure.text, seed)
                numbers = (value, followed, measure.metric.unit)
                written.append(Record(*identity, *numbers, reading, *_origin(part)))
    return written


def _origin(runs: Sequence[RunResult]) -> tuple[str, str, str, str]:
    """Return commit, version, machine and digest of what made some runs."""
    facts = [run.provenance for run in runs]
    parts = (
        [provenance.get("commit") or "" for provenance in facts],
        [provenance.get("versions", {}).get("simfl", "") for provenance in facts],
        [_machine(provenance.get("machine", {})) for provenance in facts],
        [provenance.get("scenario_sha256", "") for provenance in facts[:1]],
    )
    commit, version, machine, digest = (" ".join(sorted(set(part))) for part in parts)
    return commit, version, machine, digest


def _machine(facts: Mapping[str, object]) -> str:
    system = str(facts.get("system", "")).partition("-")[0]  # not the name of its kernel
    gpu = f", {facts['gpu']}" if "gpu" in facts else ""
    return f"{system} {facts.get('processor', '')}, {facts.get('cores', '?')} cores{gpu}"


COLUMNS = [field.name for field in fields(Record)]


def write(path: Path, records: Iterable[Record]) -> None:
    """Write a CSV file; what is None is empty."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    table.writerows(map(asdict, records))
    write_output(path, text.getvalue().encode())


def read(path: Path) -> list[Record]:
    """Return what a CSV file holds.

    Raises:
        InputError: it is damaged.
    """
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    try:
        return [_record(line) for line in lines]
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"{path} holds no results: {error}") from None


def _record(line: dict[str, Any]) -> Record:
    for name in ("value", "followed"):
        line[name] = float(line[name]) if line[name] else None
    return Record(**line)
