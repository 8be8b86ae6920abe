"""Rows of a trace that say how many samples a device holds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Scenario
from simfl.build.builder import Builder
from simfl.errors import InputError
from simfl.training.executors.base import executors
from tests.tiny import TINY

PHONES = "phone,rate,n\na,30,50\nb,5,10\nc,10,0\nd,20,140\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "phones.csv").write_text(PHONES)
    return tmp_path


def built(folder: Path, trace: dict[str, Any] | None = None, **changes: Any) -> Builder:
    columns = {"compute": {"column": "rate", "unit": "samples/s"}}
    file = {"file": "phones.csv", "samples": "n", "columns": columns, "sample": "in_order"}
    data = {"data": TINY["data"], "model": "logistic_regression", "rounds": {"clients": 2}}
    whole = {**data, "fleet": {"trace": {**file, **(trace or {})}}, **changes}
    return Builder(Scenario.from_dict(whole, folder=folder), None, True, executors.parse("inline"))


def test_each_device_holds_what_its_row_says(folder: Path) -> None:
    builder = built(folder)
    assert builder.federation.sizes.tolist() == [50, 10, 0, 140]
    assert builder.fleet.samples.tolist() == [50, 10, 0, 140]
    held = [builder.federation.training([client]).rows[0] for client in range(4)]
    assert len(np.unique(np.concatenate(held))) == 200
    written = Scenario.from_dict(builder.scenario.to_dict(), folder=folder)
    again = Builder(written, None, True, executors.parse("inline"))
    assert again.federation.sizes.tolist() == [50, 10, 0, 140]


def test_rows_at_random_keep_it_with_their_speed(folder: Path) -> None:
    dataset = {"name": "synthetic_images", "samples": 3000, "test_samples": 60, "size": 6}
    trace = {"sample": "random"}
    [group] = built(folder, trace, data={"dataset": dataset}).scenario.to_dict()["fleet"]
    fleet = [{**group, "name": name, "count": 9} for name in "xy"]
    drawn = built(folder, trace, fleet=fleet, data={"dataset": dataset}).fleet
    known = {30.0: 50, 5.0: 10, 10.0: 0, 20.0: 140}
    assert drawn.samples.tolist() == [known[rate] for rate in drawn.rate.tolist()]
    assert len(set(drawn.samples.tolist())) > 2


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"data": {**TINY["data"], "partition": "power_law"}}, "'power_law' says itself how many"),
        (
            {"data": {"dataset": "synthetic", "partition": "natural"}},
            r"fleet\[0\]\.trace: partition 'natural' says itself how many samples devices hold",
        ),
        (
            {"data": {"dataset": {**TINY["data"]["dataset"], "samples": 150}}},
            r"data\.partition: the fleet's trace gives its devices 200 samples .* has 150",
        ),
    ],
)
def test_what_contradicts_it_is_refused(folder: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        built(folder, **changes)


def test_more_devices_than_samples_may_hold_few(folder: Path) -> None:
    """Where rows say how many, there need not be one for each."""
    (folder / "phones.csv").write_text(PHONES + "e,5,0\n" * 200)
    assert np.count_nonzero(built(folder).federation.sizes) == 3


def test_groups_and_cells_that_do_not_say_it(folder: Path) -> None:
    [group] = built(folder).scenario.to_dict()["fleet"]
    bare = {"name": "bare", "count": 2}
    with pytest.raises(InputError, match=r"fleet\[1\].*of all groups or of none: fleet\[0\]"):
        built(folder, fleet=[bare, group])
    [trace] = group["trace"]
    other = {**trace, "columns": {"latency": {"column": "rate", "unit": "s"}}}
    with pytest.raises(InputError, match="samples is given twice"):
        built(folder, fleet={"trace": [trace, other]})
    for cell in ("1.5", "-1", "many"):
        (folder / "phones.csv").write_text(PHONES.replace(",10\n", f",{cell}\n"))
        with pytest.raises(InputError, match=r"phones\.csv:3: .*number"):
            built(folder)
