"""What can't be forked, and how that is told."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from simfl import Options, Scenario
from simfl.cli import main
from simfl.errors import InputError
from simfl.runs.folder.json_files import read_json
from simfl.runs.forks.fork import fork
from simfl.runs.job import Job
from simfl.runs.run import resume, run_one
from tests.run_folders import computed, files
from tests.runs.forks.forked_runs import FEDBUFF, Ran, instant
from tests.runs.interruptions import EAGER
from tests.tiny import TINY, RunTiny


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
        ("rounds.stop.rounds=2", r"^rounds.stop.rounds: 2 was reached before, \d+ by then$"),
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


def test_of_a_fork_that_is_refused_it_is_not_said_that_nothing_is_changed(
    tmp_path: Path, ran: Ran, caplog: pytest.LogCaptureFixture
) -> None:
    whole = ran(tmp_path)
    with pytest.raises(InputError, match="can't be the name of a folder"):
        fork(whole, instant(whole, 0.5), [], "../a")
    assert not caplog.messages


def test_a_run_that_ended_at_once_is_said_to_have_no_instant_for_a_fork(
    tmp_path: Path, ran: Ran
) -> None:
    """Whoever asked for 1 s was pointed to `--at end`, which was refused, too."""
    with pytest.raises(InputError, match=r"until 0 s: .* from the start, run the scenario$"):
        fork(ran(tmp_path, "fleet.memory=1 B", "rounds.stop.rounds=2"), 1.0, FEDBUFF)


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
    assert computed(there) == computed(plain)
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
