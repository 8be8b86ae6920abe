"""`simfl fork`: other rules from an instant on, the past shared byte for byte."""

import json
import math
from pathlib import Path
from shutil import copytree

import pytest

from simfl import Options, run
from simfl.cli import main
from simfl.errors import InputError
from simfl.runs.folder.json_files import read_json
from simfl.runs.forks.fork import fork, fork_all
from simfl.runs.run import resume
from simfl.runs.verify import verify
from tests.run_folders import COMPUTED, broken, computed, events, files
from tests.runs.forks.forked_runs import CHANGES, FEDBUFF, Ran, instant, shares, until
from tests.runs.interruptions import EAGER
from tests.tiny import TINY


@pytest.mark.parametrize("share", [0.05, 0.45, 0.9])
def test_without_a_change_the_end_is_the_same(
    tmp_path: Path, ran: Ran, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    whole = ran(tmp_path)
    there = fork(whole, instant(whole, share), ["rounds.clients=3"] if share > 0.5 else [])
    assert caplog.messages == [f"nothing is changed, the fork of {whole} will be that run again"]
    resume(there, EAGER)
    assert computed(there) == computed(whole)


@pytest.mark.parametrize("policy", ["hierarchical", "fedasync"])
def test_who_waited_as_time_was_up_goes_on_where_a_fork_has_more(
    tmp_path: Path, policy: str
) -> None:
    """The two take 30 s, the second a hair more, between which the fork begins."""
    rounds = {"clients": 2, "policy": policy, "stop": {"time": "30 s"}}
    if policy == "hierarchical":
        rounds["policy"] = {"name": policy, "edges": 2}
    scenario = {
        **TINY,
        "data": {"dataset": {**TINY["data"]["dataset"], "samples": 60}},
        "fleet": [
            {"name": speed, "count": 1, "compute": f"{speed} samples/s"}
            for speed in ("1", "0.9999999999999999")
        ],
        "training": {"epochs": 1},
        "rounds": rounds,
        "aggregation": "fedavg" if policy == "hierarchical" else policy,
    }
    short = run(scenario, tmp_path / "short", Options(time_only=True))[0].folder
    there = fork(short, 30.0, ["rounds.stop.time=95 s"])
    resume(there)
    rounds["stop"] = {"time": "95 s"}
    long = run(scenario, tmp_path / "long", Options(time_only=True))[0].folder
    sent = [[(e["t"], e["client"]) for e in events(f, "dispatched")] for f in (there, long)]
    assert sent[0] == sent[1]
    assert len(sent[0]) == 8


@pytest.mark.parametrize("name", CHANGES)
def test_the_past_is_shared_and_the_laws_hold(
    tmp_path: Path, ran: Ran, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = ran(tmp_path)
    before, at_s = files(whole), instant(whole, 0.5)
    there = fork(whole, at_s, CHANGES[name])
    assert not caplog.messages
    resume(there, EAGER)
    assert shares(there, whole, at_s)
    assert (there / "events.jsonl").read_bytes() != (whole / "events.jsonl").read_bytes()
    assert files(whole) == before
    assert broken(there) == []
    assert verify(there) is None
    [origin] = read_json(there / "provenance.json")["forks"]
    assert origin["at_s"] == at_s
    assert origin["set"] == CHANGES[name]
    assert origin["variant"] == "default"


@pytest.mark.parametrize(
    "first", ["synchronous", "probes", "windows", "tiered", "edges", "buffered"]
)
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_whatever_the_rules_were_before(tmp_path: Path, ran: Ran, first: str, share: float) -> None:
    rules: dict[str, list[str]] = {
        "synchronous": ["training.filter={name: cmfl, threshold: 0.55}", "rounds.stop.time=20 s"],
        "probes": ["selection={name: power_of_choice, candidates: 5}", "fleet.uplink=8 kbit/s"],
        "windows": ["rounds.policy={name: semi_synchronous, period: 1 s}"],
        "tiered": CHANGES["tiers"],
        "edges": CHANGES["edges"],
        "buffered": FEDBUFF,
    }
    whole = ran(tmp_path, *rules[first])
    at_s = instant(whole, share)
    there = fork(
        whole, at_s, ["rounds.policy={name: fedasync, concurrency: 2}", "aggregation=fedavg"]
    )
    resume(there, EAGER)
    assert shares(there, whole, at_s)
    assert broken(there) == []
    assert verify(there) is None


@pytest.mark.parametrize("asks_first", [True, False])
def test_a_selector_asks_until_the_fork_or_from_then_on(
    tmp_path: Path, ran: Ran, asks_first: bool
) -> None:
    asker, other = CHANGES["asker"], ["selection=uniform"]
    whole = ran(tmp_path, *(asker if asks_first else other))
    at_s = instant(whole, 0.5)
    there = fork(whole, at_s, other if asks_first else asker)
    resume(there, EAGER)
    when = [event["t"] for event in events(there) if event["event"] == "probe"]
    assert when
    assert all((t < at_s) == asks_first for t in when)


def test_who_is_at_work_is_called_off_and_a_new_round_begins(tmp_path: Path, ran: Ran) -> None:
    whole = ran(tmp_path, "fleet.availability=always")
    parts = [e for e in events(whole) if e["event"] == "participation" and e["round"] == 4]
    at_s = (parts[0]["selected_s"] + min(part["upload_end_s"] for part in parts)) / 2
    there = fork(whole, at_s, FEDBUFF)
    resume(there, EAGER)
    then = [event for event in events(there) if event["t"] == at_s]
    kinds = [event["event"] for event in then]
    assert kinds[:3] == ["participation"] * 3
    assert {event["outcome"] for event in then[:3]} == {"unfinished"}
    assert kinds[3:7] == ["forked", "evaluated", "round_end", "round"]
    assert [event["round"] for event in then[3:7]] == [4, 4, 4, 5]


def test_a_fork_can_begin_in_what_rounding_put_after_the_end_of_a_runs_time(
    tmp_path: Path, ran: Ran
) -> None:
    """The rule of the run that it comes from ended the fork, too, whatever its own was."""
    windows = "rounds.policy={name: semi_synchronous, period: 1.1 s}"
    whole = ran(tmp_path, windows, "rounds.stop={time: 3.2999999999995 s}")
    assert events(whole)[-1]["t"] == 1.1 + 1.1 + 1.1
    longer = ran(tmp_path / "longer", windows, "rounds.stop={time: 5 s}")
    there = fork(whole, 3.2999999999996, ["rounds.stop.time=5 s"])
    resume(there, EAGER)
    assert computed(there) == computed(longer)


@pytest.mark.parametrize("over", [False, True])
def test_only_another_end_is_as_if_it_had_been_asked_for_at_first(
    over: bool, tmp_path: Path, ran: Ran
) -> None:
    whole, longer = ran(tmp_path), ran(tmp_path / "longer", "rounds.stop.rounds=11")
    there = fork(whole, math.inf if over else instant(whole, 0.5), ["rounds.stop.rounds=11"])
    resume(there, EAGER)
    assert computed(there) == computed(longer)


def test_a_fork_is_named_as_its_run_is(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, changes = ran(tmp_path), ["rounds.stop.rounds=9"]
    monkeypatch.chdir(tmp_path)
    at_s = instant(folder, 0.5)
    assert fork(folder, at_s, changes, "far") == tmp_path.resolve() / "r" / "far" / "seed-0"
    near = Path("r") / "near" / "seed-0"
    assert fork(folder.relative_to(tmp_path), at_s, changes, "near") == near
    assert near.is_dir()


@pytest.mark.parametrize("at_s", [math.nan, -math.inf, 0.0])
def test_a_fork_begins_at_an_instant(tmp_path: Path, ran: Ran, at_s: float) -> None:
    """At no number at all it had no past, and began again."""
    with pytest.raises(InputError, match=f"begins after 0 s, not at {at_s:g} s"):
        fork(ran(tmp_path), at_s, FEDBUFF)


def test_a_run_of_one_instant_has_no_past_to_share(tmp_path: Path, ran: Ran) -> None:
    """It was told to be a fork itself."""
    whole = ran(tmp_path, "rounds.stop.time=1 us", options=Options(time_only=True))
    with pytest.raises(InputError, match="begins after 0 s, not at 0 s"):
        fork(whole, math.inf, ["rounds.stop.time=9 s"])


def test_a_fork_of_a_fork(tmp_path: Path, ran: Ran) -> None:
    whole = ran(tmp_path)
    once = fork(whole, instant(whole, 0.3), FEDBUFF)
    resume(once, EAGER)
    with pytest.raises(InputError, match="is a fork itself"):
        fork(once, instant(whole, 0.2), [])
    at_s = instant(once, 0.7)
    twice = fork(once, at_s, ["rounds.policy=synchronous", "aggregation=fedavg"], name="twice")
    resume(twice, EAGER)
    assert shares(twice, once, at_s)
    assert broken(twice) == []
    assert verify(twice) is None


def test_a_run_is_forked_before_another_fork_takes_its_place(tmp_path: Path, ran: Ran) -> None:
    first = ran(tmp_path)
    second = fork(first, instant(first, 0.3), FEDBUFF)
    resume(second, EAGER)
    at_s = instant(second, 0.7)
    pasts = [until(first, at_s), until(second, at_s)]
    assert pasts[0] != pasts[1]
    replaced, twice = fork_all([first, second], at_s, ["rounds.clients=2"], overwrite=True)
    assert replaced == second
    assert [until(replaced, at_s), until(twice, at_s)] == pasts


def test_runs_whose_forks_would_take_each_others_place_are_refused(
    tmp_path: Path, ran: Ran
) -> None:
    """Whoever has renamed their folders may ask for it."""
    first = ran(tmp_path)
    at_s, folders = (
        instant(first, 0.5),
        [tmp_path / name / first.name for name in ("b-fork", "a-fork")],
    )
    for folder, variant in zip(folders, "ab", strict=True):
        copytree(first, folder)
        provenance = json.loads((folder / "provenance.json").read_text())
        told = json.dumps({**provenance, "variant": variant})
        (folder / "provenance.json").write_text(told)
    with pytest.raises(InputError, match="take each other's place; fork one at a time"):
        fork_all(folders, at_s, ["rounds.clients=2"], overwrite=True)
    assert [until(folder, at_s) for folder in folders] == [until(first, at_s)] * 2


def test_the_command_forks_and_refuses_what_it_can_not(
    tmp_path: Path, ran: Ran, capsys: pytest.CaptureFixture
) -> None:
    whole = ran(tmp_path)
    at_s = instant(whole, 0.5)
    command = ["fork", str(whole), "--at", f"{at_s} s", "--set", FEDBUFF[0], "-q"]
    assert main(command) == 0
    there = tmp_path / "r" / "default-fork" / "seed-0"
    assert set(COMPUTED) <= {path.name for path in there.iterdir()}
    assert main(["verify", str(there)]) == main(["check", str(there)]) == 0
    assert main(["compare", str(tmp_path / "r")]) == 0
    assert "default-fork" in capsys.readouterr().out
    assert main(command) == 2
    assert "holds a run already" in capsys.readouterr().err
    (there / "scenario.yaml").unlink()
    assert main(command) == 2
    assert f"{there} lacks its scenario.yaml" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0
    assert main([*command, "--overwrite", "--name", "default"]) == 2
    assert "is the run itself" in capsys.readouterr().err
    for outside in ("../../../out", "/out", "=1+1"):
        assert main([*command, "--name", outside]) == 2
    for wrong, words in (("6 parsecs", "--at"), ("0 s", "after 0 s"), ("1 h", "`--at end`")):
        assert main(["fork", str(whole), "--at", wrong]) == 2
        assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "policy", ["{name: synchronous, deadline: D}", "{name: semi_synchronous, period: D}"]
)
def test_who_has_refused_before_counts_for_a_share_of_stragglers(
    tmp_path: Path, ran: Ran, policy: str
) -> None:
    """The deadline is of all devices with samples, as it would have been from the start."""
    small = ["fleet.count=2", "fleet.availability=always", "fleet.memory=1 kB", "rounds.clients=1"]
    whole = ran(tmp_path, *small, "rounds.policy={name: semi_synchronous, period: 1 s}")
    text = policy.replace("D", "{stragglers: 50%}")
    forked = resume(fork(whole, 0.5, [f"rounds.policy={text}"]))
    assert forked.outcomes == {"skipped": 2}  # both at once
    assert not broken(forked.folder)


def test_who_has_refused_for_want_of_memory_is_asked_again_where_less_is_needed(
    tmp_path: Path, ran: Ran
) -> None:
    groups = [
        f"{{name: {memory[-2:]}, count: 2, memory: {memory}}}" for memory in ("12 kB", "1 MB")
    ]
    whole = ran(tmp_path, f"fleet=[{', '.join(groups)}]", "training.batch_size=64")
    forked = resume(fork(whole, instant(whole, 0.5), ["training.batch_size=1"]))
    refused = forked.clients[forked.clients.outcome == "skipped"]
    assert set(refused.client) == {0, 1}
    assert {0, 1} < set(forked.clients[forked.clients.outcome == "arrived"].client)
    assert verify(forked.folder) is None


def test_a_fork_has_cautions_of_its_own_and_devices_refuse_once(tmp_path: Path, ran: Ran) -> None:
    groups = [
        f"{{name: {memory[-2:]}, count: 2, memory: {memory}}}" for memory in ("12 kB", "1 MB")
    ]
    changes = [f"fleet=[{', '.join(groups)}]", "training.batch_size=64"]
    whole = ran(tmp_path, *changes, "rounds.policy={name: fedbuff, buffer: 2}")
    [told] = read_json(whole / "provenance.json")["cautions"]
    assert "policy 'fedbuff' goes with fedbuff" in told
    less = fork(whole, instant(whole, 0.3), ["training.batch_size=1", "aggregation=fedbuff"])
    assert resume(less).provenance["cautions"] == []
    longer = fork(whole, instant(whole, 0.3), ["rounds.stop.rounds=9"], name="longer")
    assert resume(longer).provenance["cautions"] == [told]
    more = fork(less, instant(less, 0.8), ["training.batch_size=64"], name="more")
    assert resume(more).summary["refused_memory"] == 2


def test_a_fork_was_started_when_it_was_made(tmp_path: Path, ran: Ran) -> None:
    """`simfl watch` gave it the time at which the run that it comes from was started."""
    whole = ran(tmp_path)
    long_ago = "2001-02-03T04:05:06+0000"
    provenance = read_json(whole / "provenance.json") | {"started": long_ago}
    (whole / "provenance.json").write_text(json.dumps(provenance))
    there = fork(whole, instant(whole, 0.5), FEDBUFF)
    assert read_json(there / "provenance.json")["started"] > long_ago


def test_a_clock_alone_can_be_forked(tmp_path: Path, ran: Ran) -> None:
    whole = ran(tmp_path, options=Options(time_only=True))
    at_s = instant(whole, 0.4)
    there = fork(whole, at_s, ["rounds.policy={name: fedbuff, buffer: 2}"])
    resume(there)
    assert shares(there, whole, at_s)
    assert broken(there) == []
    assert verify(there) is None
