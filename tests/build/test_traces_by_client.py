"""Rows of devices and records of sessions that go to your own clients by name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from simfl import Scenario
from simfl.build.builder import Builder
from simfl.components.partitions.base import Source
from simfl.components.partitions.natural import Natural
from simfl.core.types import Ids, Rng
from simfl.errors import InputError
from simfl.scenario.checks import complaints, refuse
from simfl.sim.fleet import Fleet
from simfl.training.executors.base import executors

PHONES = "phone,rate\ncy,30\nzed,5\nann,10\nbob,20\n"
SESSIONS = "device,start_s,end_s\nzed,0,1\nbob,0,100\ncy,0,50\nann,10,300\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"{who},{x},{x % 2},{x // 4}" for who in ("bob", "ann", "cy") for x in range(5)]
    (tmp_path / "own.csv").write_text("who,x,label,test\n" + "\n".join(rows) + "\n")
    (tmp_path / "phones.csv").write_text(PHONES)
    (tmp_path / "sessions.csv").write_text(SESSIONS)
    return tmp_path


def scenario(folder: Path, **changes: Any) -> Scenario:
    rate = {"column": "rate", "unit": "samples/s"}
    dataset = {"name": "csv", "file": "own.csv", "client": "who", "test": "test"}
    return Scenario.from_dict(
        {
            "data": {"dataset": dataset, "partition": "natural"},
            "model": "logistic_regression",
            "fleet": {
                "trace": {"file": "phones.csv", "client": "phone", "columns": {"compute": rate}},
                "availability": {
                    "name": "trace", "file": "sessions.csv", "by_client": True, "shift": False,
                },
            },
            "rounds": {"clients": 2},
        },
        folder=folder,
        overrides=[f"{path.replace('__', '.')}={value}" for path, value in changes.items()],
    )  # fmt: skip


def fleet(found: Scenario) -> Fleet:
    return Builder(found, None, True, executors.parse("inline")).fleet


def test_each_client_has_its_own_row_and_record(folder: Path) -> None:
    """Whatever the order of the files, and without those whose data are not there."""
    found = scenario(folder)
    assert found.devices == 3
    drawn, everybody = fleet(found), np.arange(3)
    assert drawn.rate.tolist() == [10, 20, 30]
    online = [drawn.groups[0].schedule.online(everybody, at).tolist() for at in (5.0, 60.0, 200.0)]
    assert online == [[False, True, True], [True, True, False], [True, False, False]]
    again = Scenario.from_dict(found.to_dict(), folder=folder)
    assert fleet(again).rate.tolist() == [10, 20, 30]


def test_whoever_takes_part_and_in_whatever_group(folder: Path) -> None:
    two = scenario(folder, fleet__count=2)
    chosen = Builder(two, None, True, executors.parse("inline"))
    rates = {"ann": 10.0, "bob": 20.0, "cy": 30.0}
    assert chosen.federation.names is not None
    assert chosen.fleet.rate.tolist() == [rates[name] for name in chosen.federation.names]
    written = scenario(folder).to_dict()
    [group] = written["fleet"]
    groups = [{**group, "name": "a", "count": 1}, {**group, "name": "b", "count": 2}]
    split = fleet(Scenario.from_dict({**written, "fleet": groups}, folder=folder))
    assert split.rate.tolist() == [10, 20, 30]
    at = split.groups[1].schedule.online(np.arange(2), 60.0)
    assert at.tolist() == [True, False]


def test_below_outages_records_go_by_name_too(folder: Path) -> None:
    written = scenario(folder).to_dict()
    outages = {"name": "outages", "between": "1000 d", "lasting": "1 s"}
    outages["base"] = written["fleet"][0]["availability"]
    written["fleet"][0]["availability"] = outages
    drawn = fleet(Scenario.from_dict(written, folder=folder))
    at = drawn.groups[0].schedule.online(np.arange(3), 200.0)
    assert at.tolist() == [True, False, False]


def test_numbers_are_compared_as_numbers(folder: Path) -> None:
    for name, text in (("own.csv", "0"), ("phones.csv", "00"), ("sessions.csv", "")):
        path = folder / name
        whole = path.read_text()
        for number, who in enumerate(("cy", "ann", "bob", "zed"), start=1):
            whole = whole.replace(f"{who},", f"{text}{number},")
        path.write_text(whole)
    assert fleet(scenario(folder)).rate.tolist() == [30, 10, 20]


@pytest.mark.parametrize(
    ("file", "old", "new", "why"),
    [
        (
            "phones.csv",
            "bob",
            "bo",
            r"fleet\[0\]\.trace: .*no row for client 'bob'; did you mean 'bo",
        ),
        ("phones.csv", "zed", "bob", r"phones\.csv:5: client 'bob' is in line 3 too"),
        ("phones.csv", "cy", "", r"phones\.csv:2: expected a client in column 'phone'"),
        ("sessions.csv", "ann", "zoe", r"fleet\[0\]\.availability: sessions\.csv has no row for"),
    ],
)
def test_clients_that_have_no_row_or_two(
    folder: Path, file: str, old: str, new: str, why: str
) -> None:
    path = folder / file
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=why):
        fleet(scenario(folder))


@pytest.mark.parametrize(
    ("old", "new", "changes", "told"),
    [
        ("ann", "zoe", {}, ["ann"]),
        ("ann", "zoe", {"data__dataset__test": "null", "fleet__count": 3}, ["ann"]),  # all of them
        ("ann", "zoe", {"data__dataset__test": "null", "fleet__count": 2}, []),  # nobody can know
        ("cy", "zoe", {"data__partition": "{name: natural, clients: first}"}, ["cy"]),
        ("cy", "zoe", {"data__partition.clients": "first", "fleet__count": 2}, []),
    ],
)
def test_who_has_none_is_told_before_the_data_are_dealt(
    folder: Path, old: str, new: str, changes: dict[str, Any], told: list[str]
) -> None:
    """As far as it can be known then: by `validate` too."""
    changes = {"data__dataset__features": "[x]", "data__partition": "{name: natural}", **changes}
    for name in ("phones.csv", "sessions.csv"):
        (folder / name).write_text((folder / name).read_text().replace(old, new))
    odd = scenario(folder, **changes)
    assert [line.partition("fleet[0].")[2] for line in complaints(odd)] == [
        f"{place} has no row for client {name!r}"
        for place in ("availability: sessions.csv", "trace: phones.csv")
        for name in told
    ]


def test_more_devices_than_clients_are_told_before_the_data_are_dealt(folder: Path) -> None:
    """Where chance decides who has something to train on, only the run told."""
    many = scenario(folder, data__dataset__test="null", fleet__count=4)
    [line] = complaints(many)
    assert "partition 'natural' has 3 clients" in line
    assert "fewer than the fleet's 4 devices" in line


class Backwards(Natural):
    """A user's own, whose devices are the clients in another order."""

    @override
    def deal(self, source: Source, clients: int, rng: Rng) -> list[Ids]:
        return super().deal(source, clients, rng)[::-1]


def test_nobody_knows_beforehand_whom_a_partition_of_ones_own_deals_to(folder: Path) -> None:
    """Each group's file has rows for its own clients alone, those whom it is dealt in the end."""
    written = scenario(folder, data__dataset__features="[x]").to_dict()
    for name, rows in (("a", "cy,30"), ("b", "bob,20\nann,10")):
        (folder / f"{name}.csv").write_text(f"phone,rate\n{rows}\n")
    [group] = written["fleet"]
    groups = [
        {
            **group,
            "name": name,
            "count": count,
            "trace": {**group["trace"][0], "file": f"{name}.csv"},
        }
        for name, count in (("a", 1), ("b", 2))
    ]
    data = {**written["data"], "partition": Backwards()}
    own = Scenario.from_dict({**written, "data": data, "fleet": groups}, folder=folder)
    assert not complaints(own)
    assert fleet(own).rate.tolist() == [30, 20, 10]


def test_whose_charger_has_no_record_is_told_where_that_stands(folder: Path) -> None:
    (folder / "chargers.csv").write_text(SESSIONS.replace("cy", "di"))
    battery = "{capacity: 1 kJ, plugged: {name: trace, file: chargers.csv, by_client: true}}"
    odd = scenario(folder, fleet__battery=battery, fleet__power="{compute: 1 W}")
    with pytest.raises(InputError, match=r"fleet\[0\]\.battery\.plugged: .* for client 'cy'"):
        fleet(odd)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"data__partition": "iid", "fleet__count": 3}, r"fleet\[0\]\.trace: only clients of your"),
        ({"fleet__trace__sample": "in_order"}, "`client`, a column, and `sample: by_client` need"),
        ({"fleet__availability__shuffle": "true"}, "shuffle: `by_client` says which record each"),
        (
            {"data": "{dataset: synthetic, partition: natural}", "fleet__count": 3},
            r"fleet\[0\]\.trace: data set 'synthetic' does not say what its clients are called",
        ),
    ],
)
def test_clients_that_nobody_can_name(folder: Path, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        refuse({"": scenario(folder, **changes)})
