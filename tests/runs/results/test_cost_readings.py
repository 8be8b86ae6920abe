"""Costs are told at targets and read from runs as they are listed: all of them, nothing else."""

from dataclasses import fields

from simfl.core.costs import SPENT
from simfl.runs.results.costs import READINGS, Reached


def test_every_cost_is_read_and_told_at_targets() -> None:
    columns = [cost.column for cost in SPENT]
    assert list(READINGS) == columns
    assert [field.name for field in fields(Reached)] == ["time_s", "round", *columns]
