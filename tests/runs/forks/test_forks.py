"""`simfl fork`: other rules from an instant on, the past shared byte for byte."""

import json
import math
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from simfl import Options, Scenario, run
from simfl.cli import main
from simfl.core.work import OrderBatch, WorkResult
from simfl.errors import InputError, RunError
from simfl.runs.check import check
from simfl.runs.folder import checkpoint
from simfl.runs.folder.folder import read_json
from simfl.runs.forks.fork import fork
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from simfl.runs.verify import verify
from simfl.training.executors.inline import Inline
from tests.runs.interruptions import EAGER, ENDED, ended
from tests.tiny import TINY, RunTiny

FLEET = {
    **TINY["fleet"],
    "availability": {"name": "on_off", "on": "2 s", "off": "500 ms"},
    "power": {"idle": "1 W", "download": "2 W", "compute": "4 W", "upload": "3 W"},
}
LONG: dict[str, Any] = {**TINY, "fleet": FLEET, "rounds": {"clients": 3, "stop": {"rounds": 8}}}
FEDBUFF = ["rounds.policy={name: fedbuff, buffer: 2, max_staleness: 1}", "aggregation=fedbuff"]
CHANGES = {
    "policy": FEDBUFF,
    "tiers": ["rounds.policy={name: tiered, tiers: 2}", "aggregation={name: fedat, tiers: 2}"],
    "windows": ["rounds.policy={name: semi_synchronous, period: 1 s}"],
    "asker": ["selection=power_of_choice"],
    "oracle": ["selection=oracle"],
    "training": ["training.epochs=1", "training.optimizer.lr=0.01", "training.workload=coreset"],
    "compression": ["training.compression={name: top_k, share: 10%, error_feedback: true}"],
    "deadline": ["rounds.policy={name: synchronous, deadline: {stragglers: 40%}}"],
    "scaffold": ["aggregation=scaffold"],
}


Ran = Callable[..., Path]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Run `LONG` with changes, each once for all tests."""
    folders: dict[str, Path] = {}

    def make(overrides: tuple[str, ...], options: Options) -> Path:
        scenario = Scenario.from_dict(LONG, overrides=overrides)
        key = f"{overrides} {options}"
        if key not in folders:
            job = Job("default", scenario, tmp_path_factory.mktemp("made") / "seed-0")
            folders[key] = run_one(job, options).folder
        return folders[key]

    return make


@pytest.fixture
def ran(made: Callable[..., Path]) -> Ran:
    """Return a copy of the folder of such a run."""

    def copy(top: Path, *overrides: str, options: Options = EAGER) -> Path:
        return Path(shutil.copytree(made(overrides, options), top / "r" / "default" / "seed-0"))

    return copy


def instant(folder: Path, share: float) -> float:
    """Return an instant between two events, so far through the log."""
    times = sorted({event["t"] for event in events(folder)})
    place = int(share * (len(times) - 1))
    return (times[place] + times[place + 1]) / 2


def until(folder: Path, at_s: float) -> list[str]:
    """Return the log lines up to an instant."""
    lines = (folder / "events.jsonl").read_text().splitlines()
    return [line for line in lines if json.loads(line)["t"] <= at_s]


def shares(there: Path, whole: Path, at_s: float) -> bool:
    """Whether the log of a fork begins with all that happened up to the instant, and goes on."""
    past, lines = until(whole, at_s), (there / "events.jsonl").read_text().splitlines()
    return lines[: len(past)] == past and json.loads(lines[len(past)])["t"] >= at_s


def broken(folder: Path) -> list[str]:
    return [str(finding) for finding in check(folder) if finding.violation]


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("share", [0.05, 0.45, 0.9])
def test_without_a_change_the_end_is_the_same(
    tmp_path: Path, ran: Ran, share: float, caplog: pytest.LogCaptureFixture
) -> None:
    whole = ran(tmp_path)
    there = fork(whole, instant(whole, share), ["rounds.clients=3"] if share > 0.5 else [])
    assert caplog.messages == [f"nothing is changed, the fork of {whole} will be that run again"]
    resume(there, EAGER)
    assert ended(there) == ended(whole)


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


@pytest.mark.parametrize("first", ["synchronous", "probes", "windows", "tiered", "buffered"])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_whatever_the_rules_were_before(tmp_path: Path, ran: Ran, first: str, share: float) -> None:
    rules: dict[str, list[str]] = {
        "synchronous": ["training.filter={name: cmfl, threshold: 0.55}", "rounds.stop.time=20 s"],
        "probes": ["selection={name: power_of_choice, candidates: 5}", "fleet.uplink=8 kbit/s"],
        "windows": ["rounds.policy={name: semi_synchronous, period: 1 s}"],
        "tiered": CHANGES["tiers"],
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


def test_only_another_end_is_as_if_it_had_been_asked_for_at_first(tmp_path: Path, ran: Ran) -> None:
    whole, longer = ran(tmp_path), ran(tmp_path / "longer", "rounds.stop.rounds=11")
    there = fork(whole, instant(whole, 0.5), ["rounds.stop.rounds=11"])
    resume(there, EAGER)
    assert ended(there) == ended(longer)


def test_a_run_that_is_over_goes_on_as_if_it_had_been_asked_for_more_at_first(
    tmp_path: Path, ran: Ran
) -> None:
    whole, longer = ran(tmp_path), ran(tmp_path / "longer", "rounds.stop.rounds=11")
    there = fork(whole, math.inf, ["rounds.stop.rounds=11"])
    resume(there, EAGER)
    assert ended(there) == ended(longer)


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


@pytest.mark.parametrize("name", ["policy", pytest.param("asker", marks=pytest.mark.slow)])
def test_an_interrupted_fork_ends_the_same(tmp_path: Path, ran: Ran, name: str) -> None:
    """At every fifth event, with the last checkpoint that there was by then."""
    whole = ran(tmp_path)
    there = fork(whole, instant(whole, 0.5), CHANGES[name])
    states: list[dict[str, bytes]] = []

    class Watch:
        def listen(self, *_: Any) -> None:
            states.append(files(there))

    resume(there, EAGER, [Watch().listen])
    expected = ended(there)
    for state in states[::5]:
        for file in [path for path in there.rglob("*") if path.is_file()]:
            file.unlink()
        for path, data in state.items():
            Path(path).write_bytes(data)
        (there / ".lock").unlink()
        resume(there, EAGER)
        assert ended(there) == expected


def test_the_state_is_taken_over_from_a_checkpoint_before_the_instant(
    tmp_path: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ran(tmp_path)
    trained, train = list[int](), Inline.train

    def counted(self: Inline, batch: OrderBatch) -> list[WorkResult]:
        trained.append(len(batch.orders))
        return train(self, batch)

    monkeypatch.setattr(Inline, "train", counted)
    there = fork(whole, instant(whole, 0.97), ["rounds.stop.rounds=9"])
    resume(there, Options("inline"))
    assert (there / "checkpoint").exists()
    assert len(trained) < 4  # of nine rounds


def test_an_end_between_the_last_event_and_the_fork_has_been(tmp_path: Path, ran: Ran) -> None:
    """Such a run ended later than its rules allow, and `check` called it broken."""
    whole = ran(tmp_path, options=Options())
    log = (whole / "events.jsonl").read_text().splitlines()
    times = sorted({json.loads(line)["t"] for line in log})
    before, after = max(pairwise(times), key=lambda pair: pair[1] - pair[0])
    end_s, at_s = before + (after - before) / 3, before + 2 * (after - before) / 3
    with pytest.raises(InputError, match=r"rounds.stop.time: .* was reached before"):
        fork(whole, at_s, [f"rounds.stop.time={end_s} s"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("fleet.count=9", r"fleet\[0\].count"),
        ("seed=3", "seed"),
        ("model=logistic_regression", "model"),
        ("data.partition={name: dirichlet, alpha: 1}", "data.partition"),
        ("network.server_uplink=1 Mbit/s", "network"),
        ("training.loss=mean_squared_error", "training.loss"),
        ("evaluation.targets=[10%]", "evaluation.targets"),
        ("rounds.stop.rounds=2", r"rounds.stop.rounds: 2 was reached before"),
        (
            "rounds.stop.time=100 ms",
            r"rounds.stop.time: 0.1 s was reached before, [0-9.]+ s by then",
        ),
        (
            "rounds.stop.bytes=1 kB",
            r"rounds.stop.bytes: 1,000 B was reached before, [0-9,]+ B by then",
        ),
        ("rounds.stop.accuracy=1%", r"rounds.stop.accuracy: 0.01 was reached before"),
        ("rounds.policy=fedbufff", "did you mean 'fedbuff'"),
        ("rounds.policy={name: fedbuff, buffer: 2, timeout: 1 ms}", "no device is ever done"),
    ],
)
def test_what_would_have_changed_the_past_is_refused(
    tmp_path: Path, ran: Ran, change: str, words: str
) -> None:
    whole = ran(tmp_path, options=Options())
    before = files(tmp_path)
    with pytest.raises(InputError, match=words):
        resume(fork(whole, instant(whole, 0.7), [change]))
    assert {path: files(tmp_path)[path] for path in before} == before


def test_the_command(tmp_path: Path, ran: Ran, capsys: pytest.CaptureFixture) -> None:
    whole = ran(tmp_path)
    at_s = instant(whole, 0.5)
    command = ["fork", str(whole), "--at", f"{at_s} s", "--set", FEDBUFF[0], "-q"]
    assert main(command) == 0
    there = tmp_path / "r" / "default-fork" / "seed-0"
    assert set(ENDED) <= {path.name for path in there.iterdir()}
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


def test_what_is_called_from_python_is_not_told_in_options(tmp_path: Path, ran: Ran) -> None:
    """ "give another --name" was said to somebody who had called `fork(..., name=...)`."""
    whole = ran(tmp_path)
    at_s = instant(whole, 0.5)
    fork(whole, at_s, FEDBUFF)
    for arguments, told in (
        ((at_s, FEDBUFF), "or give overwrite=True or another name$"),
        ((at_s, FEDBUFF, "default"), "is the run itself; give another name$"),
        ((at_s, FEDBUFF, "../a"), "can't be the name of a folder; give another name$"),
        ((1e9, FEDBUFF), "a fork begins before that, and at_s=inf just before$"),
    ):
        with pytest.raises(InputError, match=told):
            fork(whole, *arguments)


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


def test_of_several_seeds_all_are_forked_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    scenario = Scenario.from_dict({**LONG, "seeds": "0-2"})
    run(scenario, tmp_path / "r", Options(time_only=True, jobs=1))
    study, before = tmp_path / "r", files(tmp_path)
    command = ["fork", str(study / "default"), "--at", "2 s", "--set", FEDBUFF[0], "-q"]
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "inherit", fails_at_the_third())
        assert main(command) == 1
    assert "disk full" in capsys.readouterr().err
    assert files(tmp_path) == before
    assert not (study / "default-fork").exists()
    assert main(command) == 0
    forked = sorted(path.name for path in (study / "default-fork").iterdir() if path.is_dir())
    assert forked == ["seed-0", "seed-1", "seed-2"]
    assert main(["check", str(study)]) == 0
    assert main([*command, "--overwrite"]) == 0
    capsys.readouterr()
    assert main(["fork", str(study), "--at", "3 s", "--name", "new", "-q"]) == 2
    assert "can't both become" in capsys.readouterr().err


def fails_at_the_third() -> Callable[..., None]:
    calls = iter(range(3))

    def fail(*_: object) -> None:
        if next(calls) == 2:
            raise RunError("disk full")

    return fail


def test_a_clock_alone_can_be_forked(tmp_path: Path, ran: Ran) -> None:
    whole = ran(tmp_path, options=Options(time_only=True))
    at_s = instant(whole, 0.4)
    there = fork(whole, at_s, ["rounds.policy={name: fedbuff, buffer: 2}"])
    resume(there)
    assert shares(there, whole, at_s)
    assert broken(there) == []
    assert verify(there) is None


@pytest.mark.parametrize(
    "forks", [5, [1], [{}], [{"at_s": "x"}], {"a": 1}, [{"at_s": 1.0}], "abc", None]
)
@pytest.mark.parametrize("command", ["check", "verify", "fork --at 500ms"])
def test_a_damaged_provenance_is_told(
    run_tiny: RunTiny, capsys: pytest.CaptureFixture, command: str, forks: object
) -> None:
    folder = run_tiny(None, Options(time_only=True)).folder
    file = folder / "provenance.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "forks": forks}))
    assert main([*command.split(), str(folder)]) == (1 if command == "check" else 2)
    out, err = capsys.readouterr()
    assert "provenance.json" in out + err or "past-1.yaml" in out + err
    assert "internal error" not in out + err


def test_a_compressed_log_can_be_forked_one_that_leaves_out_events_can_not(
    tmp_path: Path, ran: Ran
) -> None:
    whole = ran(tmp_path, options=Options(compress_log=True))
    plain = ran(tmp_path / "plain", options=Options())
    there = fork(whole, instant(plain, 0.5), [])
    resume(there)
    assert ended(there) == ended(plain)
    some = ran(tmp_path / "some", options=Options(log="rounds"))
    with pytest.raises(InputError, match="its past is not known"):
        fork(some, 0.5, [])


@pytest.mark.parametrize(
    "line", ['{"t":1,"event":', "[]", '{"event":"round"}', '{"t":"1","event":"x"}']
)
@pytest.mark.parametrize("command", [["fork", "--at", "1 s"], ["resume"]], ids=" ".join)
def test_a_damaged_log_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture, line: str, command: list[str]
) -> None:
    folder = run_one(
        Job("default", Scenario.from_dict(TINY), tmp_path / "a" / "seed-0"), EAGER
    ).folder
    (folder / "summary.json").unlink()
    log = (folder / "events.jsonl").read_text().splitlines(keepends=True)
    (folder / "events.jsonl").write_text("".join([*log[:3], f"{line}\n", *log[4:]]))
    assert main([command[0], str(folder), *command[1:], "-q", "--no-report"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert "damaged" in told or "differs from the recorded one" in told


def test_a_fork_to_an_asynchronous_policy_is_told_of_its_plain_aggregation(
    tmp_path: Path, ran: Ran
) -> None:
    whole = ran(tmp_path)
    forked = fork(whole, instant(whole, 0.5), ["rounds.policy={name: fedbuff, buffer: 2}"])
    [told] = read_json(forked / "provenance.json")["cautions"]
    assert told == "aggregation: fedavg, not given; policy 'fedbuff' goes with fedbuff"
    meant = ["rounds={policy: {name: fedbuff, buffer: 2}}", "aggregation=fedavg"]
    chosen = fork(whole, instant(whole, 0.5), meant, name="chosen")
    assert read_json(chosen / "provenance.json")["cautions"] == []
    merged = fork(whole, instant(whole, 0.5), meant[:1], name="merged")
    assert read_json(merged / "provenance.json")["cautions"] == [told]
