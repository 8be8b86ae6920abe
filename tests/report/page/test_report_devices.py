"""Who was heard, who was not, and whom rounds waited for."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simfl import run
from simfl.report import write_report
from simfl.report.page.devices import Devices
from simfl.report.page.fleet_groups import by_group
from simfl.report.page.notes import notes
from simfl.report.page.sections import sections
from simfl.runs.options import Options
from simfl.runs.results.grouping import by_variant
from simfl.runs.results.result import RunResult
from simfl.scenario import Scenario
from tests.tiny import TINY

AT_WORK = "Asked, and neither heard nor never heard: still at work when the run ended."


def asynchronous(folder: Path, **stop: object) -> RunResult:
    scenario = Scenario.from_dict(
        {**TINY, "rounds": {"clients": 4, "policy": "fedbuff", "stop": stop}},
        overrides=["rounds.policy.buffer=2"],
    )
    return run(scenario, folder, Options(time_only=True, jobs=1))[0]


def test_who_was_only_at_work_when_the_run_ended_was_not_heard(tmp_path: Path) -> None:
    devices = Devices.of(asynchronous(tmp_path, rounds=1))
    assert int(devices.heard.sum()) == 2
    assert not devices.never.any()
    assert "not heard yet were still at work when the run ended" in str(devices)


def test_one_device_is_no_several() -> None:
    one = np.ones(1, int)
    devices = Devices(3, one, np.array(["g"]), one, one, {"late": one}, 0 * one, np.array([np.nan]))
    told = "1 of 3 devices was asked; 1 of them was never heard, and it holds 100.0% of the"
    assert str(devices).startswith(told)
    working = replace(devices, outcomes={"unfinished": one})
    assert "; 1 not heard yet was still at work" in str(working)
    assert "each of them" not in str(devices)


def test_the_last_of_a_round_is_who_its_row_says(tmp_path: Path) -> None:
    result = asynchronous(tmp_path, rounds=12)
    devices = Devices.of(result)
    last_s = result.of_rounds("last_arrival_s")
    arrived = result.clients[result.clients["outcome"] == "arrived"]
    expected = [int(arrived[arrived["upload_end_s"] == s]["client"].iloc[-1]) for s in last_s]
    counted = dict(zip(devices.ids.tolist(), devices.last.tolist(), strict=True))
    assert {c: n for c, n in counted.items() if n} == {c: expected.count(c) for c in expected}


@pytest.mark.parametrize("time_only", [False, True])
def test_whose_updates_never_counted_can_be_evaluated(tmp_path: Path, time_only: bool) -> None:
    """How well the model serves them no test accuracy says; without training there is no model."""
    slow = {"name": "slow", "count": 4, "compute": "0.01 samples/s"}
    fleet = [slow, {"name": "fast", "count": 4, "compute": "900 samples/s"}]
    rounds = {"clients": 8, "policy": {"name": "synchronous", "deadline": "5 s"}}
    data = {**TINY, "fleet": fleet, "rounds": {**rounds, "stop": {"rounds": 2}}}
    [result] = run(Scenario.from_dict(data), tmp_path, Options(time_only=time_only, jobs=1))
    [told] = [text for head, text in notes({"default": [result]}) if head == "Never heard"]
    assert told.startswith("4 devices, with 50% of the samples of those asked: no update")
    assert ("`simfl evaluate` tells how well the model serves them" in told) != time_only


def test_who_was_never_asked_is_not_told_to_have_been_heard(tmp_path: Path) -> None:
    """ "Never heard" was 0 where 6 of 8 devices were never asked; `simfl evaluate` says 6 there."""
    spec = {**TINY, "rounds": {"clients": 2, "stop": {"rounds": 1}}}
    spec["variants"] = {"a": {}, "b": {"selection": "round_robin"}}
    runs = run(Scenario.from_dict(spec), tmp_path, Options(time_only=True, jobs=1))
    page = write_report(runs, tmp_path / "page.html").read_text()
    [table] = [part for part in page.split("<table") if "asked, never heard" in part]
    heads, first, *_ = [re.findall(r">([^<>\n]+)<", row) for row in table.split("<tr")[1:]]
    cells = dict(zip(heads, first, strict=True))
    assert [cells[head] for head in ("variant", "devices", "asked", "heard")] == [
        "a",
        "8",
        "2",
        "2",
    ]
    assert cells["asked, never heard"] == "0"
    assert AT_WORK not in page


def test_asked_is_heard_and_never_heard_and_who_was_still_at_work(tmp_path: Path) -> None:
    """4 were asked and 2 heard, and yet 0 were never heard: nothing told where the others were."""
    runs = [asynchronous(tmp_path / name, rounds=1) for name in "ab"]
    assert AT_WORK in write_report(runs, tmp_path / "page.html").read_text()


def test_each_group_of_the_fleet_has_what_it_came_to_and_cost(tmp_path: Path) -> None:
    fast = "fast phones of those who took part"
    fleet = [
        {"name": "slow", "count": 4, "compute": "9 samples/s", "power": {"compute": "2 W"}},
        {"name": fast, "count": 4, "compute": "900 samples/s"},
    ]
    data = {**TINY, "fleet": fleet, "rounds": {"clients": 4, "stop": {"rounds": 9}}}
    changes = ["rounds.policy.deadline=5 s"]
    [result] = run(Scenario.from_dict(data, overrides=changes), tmp_path, Options(time_only=True))
    told = by_group(result)
    assert told is not None
    assert [row[0].text for row in told[1].rows] == ["slow", fast]  # as in the scenario
    assert [row[0].css for row in told[1].rows] == ["", "long"]  # else no number is in sight
    for row in told[1].rows:
        own = result.clients[result.clients["group"] == row[0].text]
        taken = (own["upload_end_s"] - own["selected_s"])[own["outcome"] == "arrived"]
        cells = dict(zip(told[1].heads, row, strict=True))
        assert cells["participations"].sort == len(own)
        assert cells["devices asked"].sort == own["client"].nunique()
        assert cells["counted"].sort == len(taken) / len(own)
        assert cells["bytes"].sort == (own["download_bytes"] + own["upload_bytes"]).sum()
        if len(taken):
            assert cells["95% within"].sort == pytest.approx(taken.quantile(0.95))
        unknown = row[0].text == fast
        assert cells["energy at work"].text == "–" if unknown else cells["energy at work"].sort
    [alone] = run(Scenario.from_dict(TINY), tmp_path / "alone", Options(time_only=True))
    assert by_group(alone) is None
    page = write_report([result], tmp_path / "page.html").read_text()
    assert "By group of the fleet" in page


def test_attackers_are_marked(tmp_path: Path) -> None:
    """`simfl fleet` told how many there are, and the page of a run nothing."""
    attack = {"name": "sign_flip", "from_round": 2}
    groups = [{"name": "honest", "count": 6}, {"name": "odd", "count": 2, "attack": attack}]
    data = {**TINY, "fleet": groups, "rounds": {"clients": 8, "stop": {"rounds": 2}}}
    variants = {"attacked": {}, "spared": {"fleet[1].attack": None}}
    options = Options(time_only=True, jobs=1)
    runs = run(Scenario.from_dict({**data, "variants": variants}), tmp_path, options)
    [alone, of_both] = [sections(held) for held in ({"attacked": runs[:1]}, by_variant(runs))]
    tables = {part.title: part.tables for part in alone}
    for rows, place in ((tables["Clients"][0][1].rows, 1), (tables["Costs"][0][1].rows, 0)):
        assert {(row[place].text, row[place].more) for row in rows} == {
            ("honest", ""),
            ("odd", "attackers: sign_flip from round 2"),
        }
    [table] = [table for part in of_both for _, table in part.tables]
    at = table.heads.index("attackers")
    assert {row[0].text: row[at].text for row in table.rows} == {"attacked": "2", "spared": "0"}
