"""What would have shortened a run: its clock again, with one thing changed."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from simfl import run
from simfl.report.explanation import as_text
from simfl.runs.explain import explain
from simfl.runs.forks.fork import fork
from simfl.runs.job import Job
from simfl.runs.many import Watch
from simfl.runs.options import Options
from simfl.runs.progress import Progress
from simfl.runs.run import resume
from simfl.runs.what_if.changes import changes
from simfl.scenario import Scenario
from tests.runs.explained import by_deadline, known, made, why_not
from tests.tiny import TINY


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


def test_a_backhaul_is_a_link(tmp_path: Path) -> None:
    """Of a run whose time went there none of it was told, nor that it would be gone."""
    fleet = {"count": 8, "compute": "50 samples/s"}
    policy = {"name": "hierarchical", "edges": 2, "uplink": "1 kbit/s"}
    told = explain(made(tmp_path, fleet=fleet, rounds={**TINY["rounds"], "policy": policy}))
    assert known(told)["links twice as fast"] < told.end_s
    assert known(told)["links without limits"] < known(told)["links twice as fast"]
    assert "for models of edges, or for the cloud" in " ".join(as_text(told).split())


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


def test_rounds_need_not_wait_until_as_many_as_are_asked_are_online(tmp_path: Path) -> None:
    """Half of a day went by before the first of 12 could begin, and nothing told what to change."""
    outages = {"name": "on_off", "on": "20 min", "off": "20 min"}
    fleet = {"count": 8, "compute": "50 samples/s", "availability": outages, "on_offline": "pause"}
    rounds = {"clients": 7, "stop": {"rounds": 3}}
    told = explain(made(tmp_path / "7", fleet=fleet, rounds=rounds))
    assert known(told)["rounds begun with whoever is there"] < told.end_s
    one = explain(made(tmp_path / "1", fleet=fleet, rounds=rounds | {"min_clients": 1}))
    here = explain(made(tmp_path / "here", rounds=rounds))
    for other in (one, here):
        assert "rounds begun with whoever is there" not in known(other)


def test_what_failures_took_of_an_asynchronous_run_is_told(tmp_path: Path) -> None:
    fleet = {"count": 8, "compute": "50 samples/s", "failures": "60%"}
    rounds = {"clients": 3, "policy": "fedbuff", "stop": {"rounds": 3}}
    told = explain(made(tmp_path, fleet=fleet, rounds=rounds))
    assert known(told)["no training fails"] < told.end_s


def test_what_waits_for_what_never_comes_is_given_up_soon(tmp_path: Path) -> None:
    """Its clock ran for 30 days, most of them in vain, of a run of an hour."""
    outages = {"name": "on_off", "on": "1 min", "off": "1 min"}
    fleet = {"count": 20, "compute": "50 samples/s", "availability": outages, "on_offline": "pause"}
    told = explain(made(tmp_path, fleet=fleet, rounds={"clients": 14, "stop": {"rounds": 1}}))
    why = "in 10 times as long it got through 0 rounds only"
    assert why_not(told) == {"without the slowest of 120% asked": why}
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


def test_a_class_that_was_never_asked_is_not_the_slowest(tmp_path: Path) -> None:
    """It was proposed to make the servers, whom nobody asked, as slow as the phones."""
    fleet = [
        {"name": name, "count": 2, "compute": f"{per_s} samples/s"}
        for name, per_s in (("phone", 3), ("tablet", 6), ("server", 60))
    ]
    rounds = {"clients": 4, "stop": {"rounds": 1}}
    told = explain(made(tmp_path, fleet=fleet, selection="round_robin", rounds=rounds))
    assert set(told.run.clients["group"]) == {"phone", "tablet"}
    assert "phone as fast as tablet" in known(told)


@pytest.mark.slow
def test_a_run_that_was_stopped_otherwise_is_compared_over_as_many_rounds(tmp_path: Path) -> None:
    stopped = made(tmp_path, rounds={"clients": 4, "stop": {"time": "25 s"}})
    told = explain(stopped)
    assert told.as_dict()["after_last_round_ns"] > 0
    assert told.elapsed_ns == round(stopped.end_s * 1e9)
    assert all(time_s < stopped.of_rounds("end_s")[-1] for time_s in known(told).values())


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


def test_a_policy_of_ones_own_is_looked_for_beside_the_scenario(tmp_path: Path) -> None:
    """Elsewhere nothing at all was explained; where its code is gone, the rest still is."""
    code = tmp_path / "patience.py"
    code.write_text(
        "from simfl.sim.policies.synchronous import Synchronous\n"
        "class Patience(Synchronous):\n    'Its own.'\n"
    )
    rounds = {"clients": 4, "policy": "patience.py:Patience", "stop": {"rounds": 2}}
    own = made(tmp_path / "run", folder=str(tmp_path), rounds=rounds)
    told = explain(own)
    assert "a deadline that 30% of the fleet miss" in known(told)
    code.unlink()
    gone = explain(own)
    assert gone.phases_ns == told.phases_ns
    assert f"there is no file {code}" in gone.why_none


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


def test_speeds_that_are_drawn_anew_are_made_faster_too(tmp_path: Path) -> None:
    steady = {"name": "steady", "count": 4, "compute": "40 samples/s"}
    varying = {"name": "varying", "count": 4, "compute": "20 samples/s"}
    jitter = {"anew": {"distribution": "exponential", "mean": "50 ms/sample"}}
    fleet = [steady, {**varying, "compute_jitter": jitter}]
    rounds = {"clients": 8, "stop": {"rounds": 2}}
    found = {change.name: change for change in changes(made(tmp_path, fleet=fleet, rounds=rounds))}
    sets = "\n".join(found["compute twice as fast"].sets)
    assert "fleet[1].compute=40 samples/s" in sets
    assert 'fleet[1].compute_jitter.anew={"distribution": "exponential", "mean": "25 ms' in sets
    told = {change.why_not for name, change in found.items() if " as fast as " in name}
    assert "their speeds are drawn anew for each training" in told


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


def test_whoever_is_at_work_when_the_last_round_ends_is_not_lost(tmp_path: Path) -> None:
    """Of a run without a deadline or outages, a fifth was said to be lost."""
    rounds = {"clients": 4, "policy": {"name": "fedbuff", "buffer": 2}, "stop": {"rounds": 6}}
    result = made(tmp_path, rounds=rounds)
    outcomes = set(result.clients["outcome"])
    told = explain(result)
    assert outcomes == {"arrived", "unfinished"}
    assert {told.what_if.lost, *(one.lost for one in told.what_if.cases)} == {0.0}
