"""What would have shortened a run: its clock again, with one thing changed."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import run
from simfl.cli import main
from simfl.errors import InputError
from simfl.report.explanation import as_text
from simfl.runs.explain import Explanation, explain
from simfl.runs.forks.fork import fork
from simfl.runs.job import Job
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.progress import Progress
from simfl.runs.results.anatomy import Anatomy
from simfl.runs.results.result import RunResult
from simfl.runs.run import resume
from simfl.scenario import Scenario
from tests.made_runs import made_run
from tests.tiny import TINY


def made(top: Path, **changes: Any) -> RunResult:
    return run(Scenario.from_dict({**TINY, **changes}), top, Options(time_only=True))[0]


def known(told: Explanation) -> dict[str, float]:
    return {c.change.name: c.time_s for c in told.what_if.cases if not c.why_not}


def why_not(told: Explanation) -> dict[str, str]:
    return {c.change.name: c.why_not for c in told.what_if.cases if c.why_not}


@pytest.mark.slow
def test_what_is_told_is_what_a_run_with_that_change_takes(tmp_path: Path) -> None:
    told = explain(made(tmp_path / "run"))
    assert set(known(told)) == {
        "a deadline that 30% of the fleet miss",
        "without the slowest of 120% asked",
        "compute twice as fast",
        "links twice as fast",
        "links without limits",
    }
    for one in told.what_if.cases:
        changed = Scenario.from_dict(TINY, overrides=one.change.sets)
        again = run(changed, tmp_path / one.change.name, Options(time_only=True))[0]
        assert again.end_s == one.time_s < told.end_s


def test_twice_the_speed_is_half_the_time_where_nothing_else_takes_any(tmp_path: Path) -> None:
    compute = {"distribution": "choice", "values": ["20 samples/s", "50 samples/s"]}
    told = explain(made(tmp_path, fleet={"count": 8, "compute": compute}))
    assert known(told)["compute twice as fast"] == pytest.approx(told.end_s / 2)
    assert "links without limits" not in known(told)  # they have none


@pytest.mark.slow
def test_outages_and_the_slowest_class_are_undone(tmp_path: Path) -> None:
    fleet = [
        {"name": "phones", "count": 4, "compute": "100 samples/s"},
        {
            "name": "boards",
            "count": 4,
            "compute": "10 samples/s",
            "availability": {"name": "on_off", "on": "8 s", "off": "5 s"},
            "on_offline": "pause",
        },
    ]
    told = explain(made(tmp_path, fleet=fleet))
    assert known(told)["boards as fast as phones"] < told.end_s
    assert known(told)["everybody always available"] < told.end_s


def test_a_fast_class_that_holds_most_data_is_not_the_slowest(tmp_path: Path) -> None:
    """It was proposed to make the servers as slow as the phones."""
    fleet = [
        {"name": "phone", "count": 3, "compute": "3 samples/s"},
        {"name": "server", "count": 1, "compute": "4 samples/s"},
    ]
    data = {**TINY["data"], "partition": {"name": "dirichlet", "alpha": 0.1}}
    told = explain(made(tmp_path, fleet=fleet, data=data, seed=0))
    mean_s = told.run.clients.assign(s=told.run.durations_s).groupby("group")["s"].mean()
    assert mean_s["server"] > mean_s["phone"]
    assert "phone as fast as server" in known(told)
    assert "as fast as phone" not in as_text(told)


def test_a_round_that_the_end_of_the_run_cut_off_waited_for_nobody(tmp_path: Path) -> None:
    """Its devices were at work, and were said to wait for a deadline."""
    told = explain(made(tmp_path, rounds={"clients": 4, "stop": {"time": "25 s"}}), what_if=False)
    assert told.as_dict()["after_last_round_ns"] == told.phases_ns["unfinished"] > 0
    assert told.phases_ns["wait"] == 0
    assert "the round that the end of the run cut off" in " ".join(as_text(told).split())


@pytest.mark.slow
def test_a_run_that_was_stopped_otherwise_is_compared_over_as_many_rounds(tmp_path: Path) -> None:
    stopped = made(tmp_path, rounds={"clients": 4, "stop": {"time": "25 s"}})
    told = explain(stopped)
    assert told.as_dict()["after_last_round_ns"] > 0
    assert told.elapsed_ns == round(stopped.end_s * 1e9)
    assert all(time_s < stopped.column("end_s")[-1] for time_s in known(told).values())


def test_what_would_change_a_selector_that_looks_at_losses_is_left_out(tmp_path: Path) -> None:
    chosen = run(Scenario.from_dict(TINY | {"selection": "power_of_choice"}), tmp_path)[0]
    told = explain(chosen)
    assert not known(told)
    assert all("power_of_choice" in why for why in why_not(told).values())
    assert told.phases_ns["poll"] > 0
    words = " ".join(as_text(told).split())
    assert "not computed: the clock alone can't run again: selection: selector" in words
    assert "use uniform" not in words
    assert words.count("power_of_choice") == 1
    assert "left out" not in words


def test_a_run_that_was_only_made_longer_is_explained_as_one_that_was_longer(
    tmp_path: Path,
) -> None:
    """It was refused: its rules had been others before."""
    longer = resume(fork(made(tmp_path / "run").folder, math.inf, ["rounds.stop.rounds=6"]))
    at_once = made(tmp_path / "at once", rounds={"clients": 4, "stop": {"rounds": 6}})
    told, expected = explain(longer), explain(at_once)
    assert known(told) == known(expected) != {}
    twice = resume(fork(longer.folder, math.inf, ["rounds.clients=3", "rounds.stop.rounds=8"]))
    assert set(why_not(explain(twice)).values()) == {"it is a fork: its rules were others before"}


def test_numbers_of_a_file_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "speeds.csv").write_text("speed\n40\n80\n")
    compute = {
        "distribution": "empirical", "file": "speeds.csv", "column": "speed", "unit": "samples/s"
    }  # fmt: skip
    scenario = Scenario.from_dict(
        TINY | {"fleet": {"count": 8, "compute": compute}}, folder=tmp_path
    )
    told = explain(run(scenario, tmp_path / "runs", Options(time_only=True))[0])
    assert why_not(told) == {"compute twice as fast": "its numbers come from a file"}
    assert "a deadline that 30% of the fleet miss" in known(told)


def by_deadline(top: Path, **policy: Any) -> RunResult:
    fleet = [
        {"name": "quick", "count": 4, "compute": "400 samples/s"},
        {"name": "thinks", "count": 2, "compute": "2 samples/s"},
        {"name": "sends", "count": 2, "compute": "400 samples/s", "uplink": "1 kbit/s"},
    ]
    timed = policy if "period" in policy else {"deadline": "5 s"} | policy
    rounds = {"clients": 8, "stop": {"rounds": 3}, "policy": timed}
    return made(top, fleet=fleet, rounds=rounds)


class TestRound:
    def test_stragglers_are_named_with_the_phase_that_was_cut_off(self, tmp_path: Path) -> None:
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
        size = result.part("upload_bytes")[result.used][0]
        assert sends.moved_share == sends.moved_bytes / size
        slowest_first = [part.compute_s + part.upload_s for part in told.participations[4:]]
        assert slowest_first == sorted(slowest_first, reverse=True)
        text = as_text(told)
        assert "It ended by its deadline of 5.0 s; late: 4." in text
        assert f"upload, {100 * sends.moved_share:.0f}% sent, after {after_s:.1f} s" in text

    def test_a_deadline_that_is_not_enforced_ends_no_round(self, tmp_path: Path) -> None:
        told = explain(by_deadline(tmp_path, enforce=False, over_select="100%"), 1)
        assert np.isnan(told.deadline_s)
        assert "It waited last for device" in as_text(told)
        assert {part.cut_off_in for part in told.participations} == {""}

    def test_when_devices_left_is_in_the_log(self, tmp_path: Path) -> None:
        compute = {"compute": "20 samples/s"}
        outages = {"name": "on_off", "on": "2 s", "off": "2 s"}
        fleet = {"count": 8, "availability": outages, "on_offline": "abort"} | compute
        result = made(tmp_path, fleet=fleet, rounds={"clients": 4, "stop": {"rounds": 20}})
        gone = [
            part
            for round_ in result.column("round").tolist()
            for part in explain(result, round_).participations
            if part.outcome == "offline"
        ]
        assert gone
        for part in gone:
            assert part.cut_off_in == "compute"
            assert 0 <= part.cut_off_after_s < 60 / 20

    def test_of_many_participations_the_first_are_printed(self, tmp_path: Path) -> None:
        rounds = {"clients": 50, "stop": {"rounds": 1}}
        result = made(tmp_path, fleet={"count": 50, "compute": "50 samples/s"}, rounds=rounds)
        text = " ".join(as_text(explain(result, 1)).split())
        assert text.count(" arrived ") == 41  # and once in the sentence above
        assert f"and 10 more: {result.folder / 'clients.csv'} has all" in text

    def test_a_short_log_does_not_say_when(self, tmp_path: Path) -> None:
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
    assert (sent_s > waits.column("start_s") + 5).all()
    told = explain(waits, what_if=False)
    assert told.rounds_by_deadline == 0
    assert sum(rounds for _, rounds in told.critical) == 3


def test_a_deadline_after_questions_may_end_a_round_as_well(tmp_path: Path) -> None:
    fleet = [{"count": 2, "compute": f"{s} samples/s", "downlink": "2 kbit/s"} for s in (400, 2)]
    rounds = {"clients": 4, "policy": {"deadline": "9 s"}, "stop": {"rounds": 2}}
    asking = {"selection": {"name": "power_of_choice", "candidates": 4}, "rounds": rounds}
    late = run(Scenario.from_dict({**TINY, "fleet": fleet, **asking}), tmp_path)[0]
    assert (late.column("late") > 0).all()
    assert (late.column("end_s") > late.column("start_s") + 10).all()
    assert Anatomy.of(late).by_deadline.all()


def test_a_fork_whose_past_is_damaged_is_told(tmp_path: Path) -> None:
    base = by_deadline(tmp_path)
    forked = resume(fork(base.folder, base.column("end_s")[1], ["rounds.policy.enforce=false"]))
    (forked.folder / "past-1.yaml").write_text("rounds: 5\n")
    with pytest.raises(InputError, match="is damaged: its round policies can't be read"):
        explain(RunResult(forked.folder), what_if=False)


def test_rounds_go_by_the_policy_of_their_own_time(tmp_path: Path) -> None:
    """A fork's policy was taken for that of the rounds before it."""
    base = by_deadline(tmp_path)
    assert Anatomy.of(base).by_deadline.all()
    forked = resume(fork(base.folder, base.column("end_s")[1], ["rounds.policy.enforce=false"]))
    assert Anatomy.of(forked).by_deadline.tolist() == [True, True, False]


def test_an_update_that_came_while_the_server_was_busy_counted(tmp_path: Path) -> None:
    """It was said that none had."""
    fleet = {"count": 3, "compute": "100 samples/s"}
    policy = {"name": "fedasync", "server_time": "1 h"}
    busy = made(
        tmp_path, fleet=fleet, rounds={"clients": 3, "policy": policy, "stop": {"rounds": 3}}
    )
    assert (busy.column("arrived") == 1).all()
    assert "it waited for nobody" in as_text(explain(busy, 2))
    assert "It waited last for device" in as_text(explain(busy, 1))


def test_a_deadline_stays_as_long_as_it_was_where_speeds_change(tmp_path: Path) -> None:
    """Faster devices made it shorter: two things changed at a time."""
    compute = {"distribution": "lognormal", "median": "20 samples/s", "sigma": 0.7}
    policy = {"deadline": {"stragglers": "30%"}}
    rounds = {"clients": 8, "policy": policy, "stop": {"rounds": 3}}
    timed = made(tmp_path, fleet={"count": 8, "compute": compute}, rounds=rounds)
    told = explain(timed)
    [faster] = [c for c in told.what_if.cases if c.change.name == "compute twice as fast"]
    assert f"rounds.policy.deadline={timed.deadline_s!r} s" in faster.change.sets
    assert faster.lost < told.what_if.lost  # the share of its stragglers was the same before
    [patient] = [c for c in told.what_if.cases if c.change.name == "without a deadline"]
    assert len(patient.change.sets) == 1


def test_how_far_the_clocks_are_is_told(tmp_path: Path) -> None:
    class Looks(Watch):
        def begin(self, jobs: Sequence[Job], processes: int) -> None:
            titles.extend(job.variant for job in jobs)

        def tell(self, number: int, progress: Progress) -> None:
            if progress.ended:
                ended.append(titles[number])

    titles: list[str] = []
    ended: list[str] = []
    told = explain(made(tmp_path), watch=Looks())
    assert ended == titles == ["unchanged", *known(told)]


def test_whoever_a_deadline_cut_off_is_waited_for_without_it(tmp_path: Path) -> None:
    result = by_deadline(tmp_path)
    told = explain(result)
    waited = next(c for c in told.what_if.cases if c.change.name == "without a deadline")
    assert waited.change.sets == ("rounds.policy.deadline=none",)
    assert waited.time_s > told.end_s
    assert waited.lost == 0 < told.what_if.lost


class TestCommand:
    def test_it_says_phases_whom_it_waited_for_and_what_would_help(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        result = made(tmp_path)
        assert main(["explain", str(result.folder)]) == 0
        text = capsys.readouterr().out
        assert f"in all {result.end_s:.3f} s" in " ".join(text.split())
        assert "Most often waited for: device" in text
        assert max(len(line) for line in text.splitlines() if "--set" not in line) <= 100
        assert "compute twice as fast: --set 'fleet[0].compute=" in text
        assert main(["explain", str(result.folder), "--round", "2", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        ends = np.rint(result.column("end_s") * 1e9)
        assert sum(told["phases_ns"].values()) == told["elapsed_ns"] == ends[1] - ends[0]
        assert told["shortened_by"] == []
        assert [part["outcome"] for part in told["participations"]] == ["arrived"] * 4
        assert told["outcomes"] == {"arrived": 4}

    def test_it_says_that_a_run_goes_on(self, tmp_path: Path) -> None:
        run = made_run(tmp_path, "v", 0, [0.1, 0.2], finished=False)
        told = " ".join(as_text(explain(run, what_if=False)).split())  # however wide the terminal
        assert "2 rounds in 20.0 s of virtual time so far, for it has not finished Along" in told

    def test_its_tables_fit_the_terminal(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        result = by_deadline(tmp_path)
        for columns in (80, 120):
            monkeypatch.setenv("COLUMNS", str(columns))
            assert main(["explain", str(result.folder), "--no-what-if"]) == 0
            lines = capsys.readouterr().out.splitlines()
            assert max(map(len, lines)) <= columns
            [at] = [n for n, line in enumerate(lines) if line.startswith("  wait")]
            folded = lines[at + 1].startswith(10 * " ")
            assert folded == (columns == 80)

    def test_it_is_told_what_can_not_be_explained(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["explain", str(tmp_path)]) == 2
        assert "is not a run folder" in capsys.readouterr().err
        result = made(tmp_path)
        assert main(["explain", str(tmp_path)]) == 2
        told = f"{tmp_path} is not a run folder; below it there are {result.folder}\n"
        assert told in capsys.readouterr().err
        assert main(["explain", str(result.folder), "--round", "9"]) == 2
        assert "has no round 9; its rounds: 1 to 4" in capsys.readouterr().err
        assert main(["explain", str(result.folder), "--round", "1", "--what-if"]) == 2
        assert "--what-if runs the clock of a whole run again" in capsys.readouterr().err
        assert main(["explain", str(result.folder), "--no-what-if"]) == 0
        assert "not computed: not asked for" in capsys.readouterr().out

    def test_a_strangers_code_is_not_run_unasked(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        result = made(tmp_path)
        path = result.folder / "scenario.yaml"
        text = path.read_text()
        path.write_text(text.replace("name: uniform", "name: 'stranger:Evil'"))
        assert main(["explain", str(result.folder)]) == 0
        assert "--allow-code to allow it" in capsys.readouterr().out

    def test_rounds_that_are_not_there_are_refused_from_python_too(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="has no round 0"):
            explain(made(tmp_path), 0)
