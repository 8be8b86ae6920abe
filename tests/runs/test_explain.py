"""Why a run took as long: whom its rounds waited for, which of them a deadline ended."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import run
from simfl.errors import InputError
from simfl.report.explanation import as_text
from simfl.runs.explain import explain
from simfl.runs.forks.fork import fork
from simfl.runs.options import Options
from simfl.runs.results.anatomy import Anatomy
from simfl.runs.results.result import RunResult
from simfl.runs.run import resume
from simfl.scenario import Scenario
from tests.run_folders import broken
from tests.runs.explained import by_deadline, made
from tests.tiny import TINY


def test_a_round_that_the_end_of_the_run_cut_off_waited_for_nobody(tmp_path: Path) -> None:
    """Its devices were at work, and were said to wait for a deadline."""
    told = explain(made(tmp_path, rounds={"clients": 4, "stop": {"time": "25 s"}}), what_if=False)
    assert told.as_dict()["after_last_round_ns"] == told.phases_ns["unfinished"] > 0
    assert told.phases_ns["wait"] == 0
    assert "the round that the end of the run cut off" in " ".join(as_text(told).split())


def test_stragglers_are_named_with_the_phase_that_was_cut_off(tmp_path: Path) -> None:
    result = by_deadline(tmp_path)
    told = explain(result, 2)
    assert told.deadline_s == 5.0
    assert [part.outcome for part in told.participations] == ["late"] * 4 + ["arrived"] * 4
    thinks, *_, sends = told.participations[:4]
    assert (thinks.client, thinks.group, thinks.cut_off_in) == (4, "thinks", "compute")
    assert thinks.cut_off_after_s == pytest.approx(5.0)
    assert (sends.client, sends.cut_off_in) == (7, "upload")
    after_s = 5.0 - sends.compute_s
    assert sends.cut_off_after_s == pytest.approx(after_s)
    assert sends.moved_bytes == pytest.approx(after_s * 1000 / 8, abs=1)
    size = result.of_clients("upload_bytes")[result.used][0]
    assert sends.moved_share == sends.moved_bytes / size
    slowest_first = [part.compute_s + part.upload_s for part in told.participations[4:]]
    assert slowest_first == sorted(slowest_first, reverse=True)
    text = as_text(told)
    assert "It ended by its deadline of 5.0 s; late: 4." in text
    assert f"upload, {100 * sends.moved_share:.0f}% sent, after {after_s:.1f} s" in text


def test_a_deadline_that_is_not_enforced_ends_no_round(tmp_path: Path) -> None:
    told = explain(by_deadline(tmp_path, enforce=False, over_select="100%"), 1)
    assert np.isnan(told.deadline_s)
    assert "It waited last for device" in as_text(told)
    assert {part.cut_off_in for part in told.participations} == {""}


def test_when_devices_left_is_in_the_log(tmp_path: Path) -> None:
    compute = {"compute": "20 samples/s"}
    outages = {"name": "on_off", "on": "2 s", "off": "2 s"}
    fleet = {"count": 8, "availability": outages, "on_offline": "abort"} | compute
    result = made(tmp_path, fleet=fleet, rounds={"clients": 4, "stop": {"rounds": 20}})
    gone = [
        part
        for round_ in result.of_rounds("round").tolist()
        for part in explain(result, round_).participations
        if part.outcome == "offline"
    ]
    assert gone
    for part in gone:
        assert part.cut_off_in == "compute"
        assert 0 <= part.cut_off_after_s < 60 / 20


def test_who_was_cut_off_before_the_first_byte_was_no_further(tmp_path: Path) -> None:
    rounds = {"clients": 4, "stop": {"rounds": 1}, "policy": {"deadline": "2 s"}}
    fleet = {"count": 8, "compute": "50 samples/s", "latency": "3 s"}
    told = explain(made(tmp_path, fleet=fleet, rounds=rounds), 1)
    cut_off = {(part.cut_off_in, part.cut_off_after_s) for part in told.participations}
    assert cut_off == {("download", 2.0)}


def test_of_many_participations_the_first_are_printed(tmp_path: Path) -> None:
    rounds = {"clients": 50, "stop": {"rounds": 1}}
    result = made(tmp_path, fleet={"count": 50, "compute": "50 samples/s"}, rounds=rounds)
    text = " ".join(as_text(explain(result, 1)).split())
    assert text.count(" arrived ") == 41  # and once in the sentence above
    assert f"and 10 more: {result.folder / 'clients.csv'} has all" in text


def test_a_short_log_does_not_say_when(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(by_deadline(tmp_path / "full").scenario)
    short = run(scenario, tmp_path / "short", Options(time_only=True, log="rounds"))[0]
    told = explain(short, 1)
    assert told.participations[0].cut_off_in == "compute"
    assert np.isnan(told.participations[0].cut_off_after_s)
    assert told.as_dict()["participations"][0]["cut_off_after_s"] is None


@pytest.mark.parametrize(
    ("policy", "n"),
    [
        ({}, 3),
        ({"late": "carry"}, 1),  # afterwards only the quick are free
        ({"server_time": "1 s"}, 3),
        ({"name": "semi_synchronous", "period": "5 s"}, 3),
    ],
    ids=str,
)
def test_nobody_is_waited_for_where_rounds_end_by_a_deadline(
    policy: dict[str, Any], n: int, tmp_path: Path
) -> None:
    """Whose update came last in time had not been waited for."""
    told = explain(by_deadline(tmp_path, **policy), what_if=False)
    assert told.rounds_by_deadline == told.as_dict()["rounds_ended_by_deadline"] == n
    assert sum(rounds for _, rounds in told.critical) == 3 - n
    assert ("Most often waited for" in as_text(told)) == (n < 3)
    assert f"Ended by their deadline: {n} of 3 rounds." in as_text(told)


def test_rounds_that_a_deadline_could_have_ended_wait_for_somebody(tmp_path: Path) -> None:
    waits = explain(by_deadline(tmp_path, deadline="1 h", server_time="1 h"), what_if=False)
    assert waits.rounds_by_deadline == 0
    assert sum(rounds for _, rounds in waits.critical) == 3


def test_a_deadline_begins_when_orders_go_out_not_with_the_questions(tmp_path: Path) -> None:
    """Rounds that a selector's questions made long had ended by their deadline, it said."""
    speeds = (400, 390, 380, 370, 100, 90)
    fleet = [{"count": 1, "compute": f"{s} samples/s", "downlink": "2 kbit/s"} for s in speeds]
    policy = {"deadline": "5 s", "over_select": "150%"}
    rounds = {"clients": 4, "policy": policy, "stop": {"rounds": 3}}
    asking = {"selection": {"name": "power_of_choice", "candidates": 6}, "rounds": rounds}
    waits = run(Scenario.from_dict({**TINY, "fleet": fleet, **asking}), tmp_path)[0]
    sent_s = waits.clients.groupby("round")["selected_s"].min().to_numpy()
    assert (sent_s > waits.of_rounds("start_s") + 5).all()
    told = explain(waits, what_if=False)
    assert told.rounds_by_deadline == 0
    assert sum(rounds for _, rounds in told.critical) == 3


@pytest.mark.parametrize("name", ["synchronous", "timed_by_orders.py:TimedByOrders"])
def test_a_deadline_after_questions_may_end_a_round_as_well(name: str, tmp_path: Path) -> None:
    """That of a policy of one's own was taken to begin with the round."""
    (tmp_path / "timed_by_orders.py").write_text(
        "from simfl.sim.policies.synchronous import Synchronous\n"
        "class TimedByOrders(Synchronous):\n    'Its own.'\n"
    )
    fleet = [{"count": 2, "compute": f"{s} samples/s", "downlink": "2 kbit/s"} for s in (400, 2)]
    rounds = {"clients": 4, "policy": {"name": name, "deadline": "9 s"}, "stop": {"rounds": 2}}
    asking = {"selection": {"name": "power_of_choice", "candidates": 4}, "rounds": rounds}
    scenario = Scenario.from_dict({**TINY, "fleet": fleet, **asking}, folder=tmp_path)
    late = run(scenario, tmp_path / "runs")[0]
    assert (late.of_rounds("late") > 0).all()
    assert (late.of_rounds("end_s") > late.of_rounds("start_s") + 10).all()
    assert Anatomy.of(late).by_deadline.all()


def test_a_fork_whose_past_is_damaged_is_told(tmp_path: Path) -> None:
    base = by_deadline(tmp_path)
    forked = resume(fork(base.folder, base.of_rounds("end_s")[1], ["rounds.policy.enforce=false"]))
    past = forked.folder / "past-1.yaml"
    text = past.read_text()
    for content in ("rounds: 5\n", "", "- a\n", text[: text.index("rounds:")]):
        past.write_text(content)
        told = f"{past} is damaged: it holds no scenario with a `rounds.policy`"
        with pytest.raises(InputError) as refusal:
            explain(RunResult(forked.folder), what_if=False)
        assert str(refusal.value) == told
        assert broken(forked.folder) == [f"readable ......... BROKEN  {told}"]


def test_rounds_go_by_the_policy_of_their_own_time(tmp_path: Path) -> None:
    """A fork's policy was taken for that of the rounds before it."""
    base = by_deadline(tmp_path)
    assert Anatomy.of(base).by_deadline.all()
    forked = resume(fork(base.folder, base.of_rounds("end_s")[1], ["rounds.policy.enforce=false"]))
    assert Anatomy.of(forked).by_deadline.tolist() == [True, True, False]


def test_an_update_that_came_while_the_server_was_busy_counted(tmp_path: Path) -> None:
    """It was said that none had."""
    fleet = {"count": 3, "compute": "100 samples/s"}
    policy = {"name": "fedasync", "server_time": "1 h"}
    busy = made(
        tmp_path, fleet=fleet, rounds={"clients": 3, "policy": policy, "stop": {"rounds": 3}}
    )
    assert (busy.of_rounds("arrived") == 1).all()
    assert "it waited for nobody" in as_text(explain(busy, 2))
    assert "It waited last for device" in as_text(explain(busy, 1))


def test_what_was_selected_in_a_round_is_told_from_what_arrived_in_it(tmp_path: Path) -> None:
    """Its participations read as those that rounds.csv counts."""
    policy = {"name": "fedasync"}
    told = explain(
        made(tmp_path, rounds={"clients": 4, "policy": policy, "stop": {"rounds": 8}}), 1
    )
    assert told.outcomes == {"arrived": 4}
    text = as_text(told)
    assert "Of 4 participations selected in it: 4 arrived (100.0%)." in text
    assert "Arrived in it, whenever they were selected: 1." in text
    assert "The participations selected in it, lost ones first" in text
    waiting = as_text(explain(by_deadline(tmp_path / "waiting"), 2))
    assert "Of 8 participations selected in it: 4 arrived (50.0%) and 4 late (50.0%)." in waiting
    assert "whenever" not in waiting
