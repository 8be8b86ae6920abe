"""What a comparison of runs tells: a row per variant, a cell for each of its columns."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from typing_extensions import override

from simfl.core.arguments import called
from simfl.errors import InputError, NameNotFound
from simfl.runs.results.column import Column, compares, target_in, target_text
from simfl.runs.results.compared_columns import comparing, known
from simfl.runs.results.grouping import Groups, all_runs
from simfl.runs.results.metric import ON_REQUEST, Metric, figure, times
from simfl.runs.results.paired import Ratio, paired_difference, paired_ratio
from simfl.runs.results.several import can_reach, untrained
from simfl.runs.results.signs import Signs, signs
from simfl.runs.results.statistics import Figure

Cell = Figure | Ratio | Signs | None


@dataclass(frozen=True, repr=False)
class Comparison:
    """A row per variant.

    Attributes:
        groups: the runs, by variant.
        columns: what is compared.
        targets: those asked about, the easiest first.
        baseline: the variant that ratios are over, if any.
    """

    groups: Groups
    columns: Sequence[Column]
    targets: Sequence[float]
    baseline: str | None = None

    @override
    def __repr__(self) -> str:
        keys = ", ".join(column.key for column in self.columns)
        return f"Comparison(variants: {', '.join(self.groups)}; columns: {keys})"

    def only(self, keys: Sequence[str]) -> "Comparison":
        """Return the columns that `keys` name alone, in their order.

        Among them may be some that are not there by themselves: `loss`, `best_accuracy` and others.
        A target may be written as it is asked about: `time_s_to_rmse 0.5`.

        Raises:
            InputError: there is no such column.
        """
        columns = {column.key: column for column in self.columns}
        keys = [key if key in columns else key.replace(" ", "_") for key in keys]  # rmse 0.5
        if not columns.keys() >= set(keys):  # tables of clients may have to be read
            columns = {column.key: column for column in self._on_request()} | columns
        for key in keys:
            if key not in columns:
                target = target_in(key)
                if target and untrained(all_runs(self.groups)):
                    raise InputError(
                        f"column {key!r} is of a target, and only time was simulated: nothing was "
                        "trained that could reach one"
                    )
                if target and target not in map(target_text, self.targets):
                    text = quote(target)
                    ask = called(f"--targets {text} asks", f"targets=[{target!r}] asks")
                    raise InputError(
                        f"column {key!r} is of a target that is not asked about; {ask}"
                    )
                if self.baseline is None and compares(key):
                    needs = called("--baseline", "a baseline")
                    raise InputError(f"column {key!r} compares variants, and needs {needs}")
                raise NameNotFound("column", key, columns)
        return replace(self, columns=[columns[key] for key in dict.fromkeys(keys)])

    def _on_request(self) -> Iterator[Column]:
        """Yield what can be said of some of the runs, but is not of itself, or to no avail."""
        for metric in ON_REQUEST:
            if any(known(runs, metric) for runs in self.groups.values()):
                yield Column(metric)
                if self.baseline is not None and metric.judges:
                    yield Column(metric, versus=self.baseline)
        if self.baseline is not None:
            yield from comparing(self.groups, self.targets, self.baseline)

    def cell(self, variant: str, column: Column) -> Cell:
        """Return what a variant has in a column (None: nothing)."""
        metric, target = column.metric, column.target
        if column.ideal is not None:
            return self._improvement(variant, column)
        if column.versus is None:
            if target is not None:
                judged = can_reach(self.groups[variant], target)
                if not (judged and known(self.groups[variant], metric, target)):
                    return None
            return figure(self.groups[variant], metric, target)
        if column.counted:
            return self._signs(variant, column.versus, column)
        if not column.divided:
            return paired_difference(
                self._values(variant, metric),
                self._values(column.versus, metric),
                metric.worst,
                metric.possible,
                in_steps=True,
            )
        if not all(known(self.groups[name], metric) for name in (column.versus, variant)):
            return None
        return self.ratio(column.versus, variant, metric, target)

    def figure(self, variant: str, column: Column) -> Figure:
        """Return what a variant itself has in a column."""
        return figure(self.groups[variant], column.metric, column.target)

    def beats(self, a: str, b: str, column: Column) -> bool:
        """Whether a variant is better than another, seed by seed, by more than chance explains.

        The column's is an accuracy, of which more is better, or what a target costs.
        """
        if column.target is not None:
            ratio = self.ratio(a, b, column.metric, column.target)
            return ratio is not None and ratio.surely_less
        difference = paired_difference(
            self._values(a, column.metric), self._values(b, column.metric), in_steps=True
        )
        interval = difference.interval
        return interval is not None and not difference.level and interval.low > 0

    def ratio(self, a: str, b: str, metric: Metric, target: float | None) -> Ratio | None:
        """Return how many times as much of `metric` `a` needs to reach `target` as `b`.

        Without a target: how many times as much it takes.
        """
        return paired_ratio(
            times(self.groups[a], metric, target), times(self.groups[b], metric, target)
        )

    def _signs(self, a: str, b: str, column: Column) -> Signs | None:
        """Return with how many seeds `a` needs less than `b` (None: neither can be asked)."""
        runs, target = (self.groups[a], self.groups[b]), column.target
        if target is None or not all(can_reach(own, target) for own in runs):
            return None
        told = signs(*(times(own, column.metric, target) for own in runs))
        return told if told.seeds else None

    def _values(self, variant: str, metric: Metric) -> dict[int, float]:
        return {run.seed: metric.of(run) for run in self.groups[variant]}

    def _improvement(self, variant: str, column: Column) -> Figure:
        """Return (own - baseline's) / (ideal's - baseline's), of means (FedACS, section IV-A).

        Nothing where the ideal is no better than the baseline.
        """

        def mean(name: str | None) -> float:
            return figure(self.groups[str(name)], column.metric, None).mean

        base, reach = mean(column.versus), mean(column.ideal) - mean(column.versus)
        return Figure.of([(mean(variant) - base) / reach if reach > 0 else math.nan])
