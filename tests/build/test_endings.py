"""Runs that would never end are refused before anything is written, where they stand."""

from pathlib import Path

import pytest

from simfl.cli import main

SCENARIO = """\
data: {{dataset: {{name: synthetic, clients: 12}}}}
model: logistic_regression
fleet: {{count: 12, compute: 10 samples/s{fleet}}}
training: {{epochs: 1}}
rounds:
  clients: 4
  stop: {{{stop}}}
  {rounds}
"""


def outcome(
    folder: Path,
    rounds: str,
    stop: str = "rounds: 2",
    fleet: str = "",
    trains: bool = False,
    **files: str,
) -> tuple[int, bool]:
    """Return the exit code of a run, and whether it has written anything."""
    for name, text in files.items():
        (folder / f"{name}.csv").write_text(text)
    file = folder / "s.yaml"
    file.write_text(SCENARIO.format(rounds=rounds, stop=stop, fleet=fleet))
    how = ["-q", "--no-report", *([] if trains else ["--time-only"])]
    code = main(["run", str(file), "--out", str(folder / "o"), *how])
    return code, (folder / "o").exists()


TIMEOUT = "policy: {name: fedasync, timeout: 1 s}"


def test_a_timeout_that_nobody_can_keep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The smallest share has dozens of samples, at 10 a second."""
    assert outcome(tmp_path, TIMEOUT) == (2, False)
    error = capsys.readouterr().err
    assert "s.yaml:8:37: rounds.policy.timeout: no device is ever done within 1 s" in error


def test_a_run_that_ends_all_the_same_is_not_refused(tmp_path: Path) -> None:
    assert outcome(tmp_path, TIMEOUT, "time: 1 min") == (0, True)


def test_a_timeout_that_the_fastest_can_keep(tmp_path: Path) -> None:
    assert outcome(tmp_path, TIMEOUT.replace("1 s", "1 h")) == (0, True)


@pytest.mark.parametrize(
    "policy",
    ["fedbuff, timeout: 1e-300 s", "tiered, deadline: 1 ns", "semi_synchronous, period: 0.9 us"],
)
def test_times_that_do_not_move_the_clock(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    """No round took any time, and their number was no end."""
    assert outcome(tmp_path, f"policy: {{name: {policy}}}", "time: 10 s") == (2, False)
    assert "must be at least 1 us" in capsys.readouterr().err


NAMES = "policy: {{name: {}, deadline: 1 s}}"


@pytest.mark.parametrize(
    ("policy", "stop", "code"),
    [
        ("synchronous", "accuracy: 99%", 2),
        ("synchronous", "accuracy: 99%, rounds: 2", 0),
        ("synchronous", "rounds: 2", 0),
        ("tiered", "rounds: 2", 2),
        ("tiered", "rounds: 2, time: 1 min", 0),
        ("hierarchical", "accuracy: 99%", 2),
        ("hierarchical", "rounds: 2", 0),
    ],
)
def test_a_deadline_that_nobody_can_meet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str, stop: str, code: int
) -> None:
    wrong = outcome(tmp_path, NAMES.format(policy), stop, trains=True)
    assert wrong == (code, not code)
    if code:
        assert (
            "rounds.policy.deadline: no device is ever done within 1 s" in capsys.readouterr().err
        )


@pytest.mark.parametrize(
    ("stop", "fleet", "told"),
    [
        ("bytes: 10 kB", "", None),
        ("bytes: 10 kB", ", latency: 1 s", None),
        ("bytes: 10 kB", ", latency: 1001 ms", "names no rounds or time\n"),
        ("energy: 1 J", ", power: {compute: 1 W}", None),
        ("energy: 1 J", ", latency: 2 s, power: {download: 1 W}", None),
        (
            "energy: 1 J",
            ", latency: 2 s, power: {compute: 1 W}",
            "names no rounds or time or bytes\n",
        ),
        ("energy: 1 J", ", power: {upload: 1 W}", "names no rounds or time or bytes\n"),
        ("bytes: 9 kB, energy: 1 J", ", latency: 2 s, power: {idle: 1 W}", None),
    ],
)
def test_who_is_always_late_may_have_moved_or_spent_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stop: str, fleet: str, told: str | None
) -> None:
    """Rounds were endless in which not a byte came, and refused where energy would end them."""
    assert outcome(tmp_path, NAMES.format("synchronous"), stop, fleet) == (
        2 if told else 0,
        not told,
    )
    assert capsys.readouterr().err.endswith(f"and `rounds.stop` {told}" if told else "")


@pytest.mark.parametrize(("latency", "code"), [("600 ms", 2), ("400 ms", 0)])
def test_work_that_is_fitted_to_the_time_leaves_the_transfers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], latency: str, code: int
) -> None:
    """Of workloads that may ask for less nothing was known, and the rounds were endless."""
    text = SCENARIO.format(rounds=NAMES.format("synchronous"), stop="bytes: 9 kB", fleet="")
    (tmp_path / "s.yaml").write_text(text)
    words = ["run", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "o"), "--time-only", "-q"]
    words += ["--set", "training={epochs: 9, workload: partial_epochs}"]
    words += ["--set", f"fleet={{compute: 1e6 samples/s, latency: {latency}}}"]
    assert main(words) == code
    if code:
        assert "the fastest takes 1.2 s to download and upload alone;" in capsys.readouterr().err


QUORUM = "min_clients: 4"
TRACE = ", availability: {name: trace, file: trace.csv}"


def trace(online: int) -> str:
    """Return records of 12 devices, of which the first `online` ever are."""
    rows = [f"{device},0,60,{int(device < online)}" for device in range(12)]
    return "\n".join(["device,start_s,end_s,state", *rows, ""])


@pytest.mark.parametrize(("online", "expected"), [(3, (2, False)), (4, (0, True))])
def test_a_quorum_that_a_trace_never_offers(
    tmp_path: Path, online: int, expected: tuple[int, bool], capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(tmp_path, QUORUM, fleet=TRACE, trace=trace(online)) == expected
    if online < 4:
        error = capsys.readouterr().err
        assert "s.yaml:8:16: rounds.min_clients: 4 clients to begin a round, but only 3" in error


def test_a_quorum_beyond_the_fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcome(tmp_path, "min_clients: 13") == (2, False)
    assert "rounds.min_clients: 13 clients to begin a round, but the fleet has only 12" in (
        capsys.readouterr().err
    )


def test_a_quorum_beyond_an_edge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = "policy: {name: hierarchical, edges: 5}\n  min_clients: "
    assert outcome(tmp_path, rounds + "3") == (2, False)
    assert "3 clients to begin an edge's round, but an edge has only 2 with samples" in (
        capsys.readouterr().err
    )
    assert outcome(tmp_path, rounds + "2") == (0, True)


ONE_BY_ONE = "{name: trace, file: trace.csv, shift: false}"


@pytest.mark.parametrize(
    ("rounds", "availability", "place"),
    [
        (QUORUM, ONE_BY_ONE, "8:16"),
        (QUORUM, f"{{name: outages, base: {ONE_BY_ONE}, between: 1 h, lasting: 1 min}}", "8:16"),
        ("policy: synchronous", ONE_BY_ONE, "6:12"),
        ("min_clients: 1", ONE_BY_ONE, ""),
        ("policy: {name: hierarchical, edges: 12, clients_per_edge: 4}", ONE_BY_ONE, ""),
    ],
)
def test_devices_that_are_there_one_after_the_other(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    rounds: str,
    availability: str,
    place: str,
) -> None:
    """A minute each: all of them come, but never four at once."""
    rows = [f"{device},{60 * device},{60 * device + 60}" for device in range(12)]
    text = "\n".join(["device,start_s,end_s", *rows, ""])
    wrong = outcome(tmp_path, rounds, fleet=f", availability: {availability}", trace=text)
    assert wrong == ((2, False) if place else (0, True))
    if place:
        error = capsys.readouterr().err
        assert f"s.yaml:{place}: rounds." in error
        assert "once 4 clients are available at once, but never more than 1 are" in error


def test_rounds_that_would_all_be_abandoned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Devices that are there one after the other, and those that hold no samples: it ran on."""
    rows = [f"{device},{60 * device},{60 * device + 60}" for device in range(12)]
    text = "\n".join(["device,start_s,end_s", *rows, ""])
    two = "min_clients: 1\n  policy: {name: synchronous, min_updates: 2}"
    assert outcome(tmp_path, two, fleet=f", availability: {ONE_BY_ONE}", trace=text) == (2, False)
    told = "rounds.policy.min_updates: 2 updates, but never more than 1 device with samples"
    assert f"s.yaml:9:44: {told}" in capsys.readouterr().err
    columns = "columns: {latency: {column: s, unit: s}}"
    held = f", trace: {{file: trace.csv, samples: n, sample: in_order, {columns}}}"
    data = "\ndata: {dataset: synthetic_images, partition: iid}"
    held_by_three = "s,n\n" + "0,9\n" * 3 + "0,0\n" * 9
    file = tmp_path / "held.yaml"
    text = SCENARIO.format(rounds=two.replace("s: 2", "s: 4"), stop="rounds: 2", fleet=held)
    file.write_text("\n".join(text.split("\n")[1:]) + data)
    (tmp_path / "trace.csv").write_text(held_by_three)
    assert main(["run", str(file), "--out", str(tmp_path / "o"), "--time-only", "-q"]) == 2
    assert "4 updates, but never more than 3 devices with samples" in capsys.readouterr().err


SHORT = ", availability: {name: trace, file: trace.csv}, on_offline: "


@pytest.mark.parametrize(
    ("policy", "stop", "on_offline", "code"),
    [
        ("fedbuff", "rounds: 2", "abort", 2),
        ("tiered", "rounds: 2", "abort", 2),
        ("synchronous", "accuracy: 99%", "abort", 2),
        ("fedbuff", "rounds: 2", "pause", 0),
        ("fedbuff", "rounds: 2, time: 10 s", "abort", 0),
        ("synchronous", "rounds: 2", "abort", 0),
    ],
)
def test_sessions_too_short_for_anything(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    policy: str,
    stop: str,
    on_offline: str,
    code: int,
) -> None:
    """Half a second online and half a second not; nobody has fewer than a second's samples."""
    rows = "".join(f"{device},0,0.5,1\n{device},0.5,1,0\n" for device in range(12))
    wrong = outcome(
        tmp_path, f"policy: {policy}", stop, SHORT + on_offline, "accuracy" in stop,
        trace=f"device,start_s,end_s,state\n{rows}",
    )  # fmt: skip
    assert wrong == (code, not code)
    if code:
        error = capsys.readouterr().err
        assert "fleet: no device is online for longer than 0.5 s, the fastest takes" in error


SLOW = "uplink: 3 bit/s"


@pytest.mark.parametrize(
    ("link", "policy", "stop", "on_offline", "code"),
    [
        (SLOW, "synchronous", "rounds: 2", "pause", 2),
        (SLOW, "synchronous", "rounds: 2", "salvage", 2),
        (SLOW, "fedbuff", "rounds: 2", "pause", 2),
        (SLOW, "synchronous", "rounds: 2, time: 1 min", "pause", 0),
        (SLOW, "{name: synchronous, deadline: 1 min}", "rounds: 2", "pause", 0),
        ("uplink: 1 Mbit/s, latency: 2 s", "synchronous", "rounds: 2", "pause", 2),
        ("uplink: 1 Mbit/s, latency: 1.9 s", "synchronous", "rounds: 2", "pause", 0),
    ],
)
def test_sessions_too_short_for_a_byte(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    link: str,
    policy: str,
    stop: str,
    on_offline: str,
    code: int,
) -> None:
    """Two seconds online and two not."""
    fleet = f", {link}{SHORT}{on_offline}".replace(
        "file: trace.csv", "file: trace.csv, shift: false"
    )
    trace = "device,start_s,end_s,state\n0,0,2,1\n0,2,4,0\n"
    rounds = f"policy: {policy}"
    assert outcome(tmp_path, rounds, stop, fleet, trace=trace) == (code, not code)
    if code:
        error = capsys.readouterr().err
        assert "s.yaml:3:8: fleet: no device is online for longer than 2 s, one byte takes" in error


def test_what_protocols_add_to_a_message_fits_no_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes with each part of a message again: 10 kB at 8 kbit/s."""
    fleet = f", uplink: 8 kbit/s{SHORT}pause"
    trace = "device,start_s,end_s,state\n0,0,10,1\n0,10,20,0\n"
    rounds = "policy: synchronous\nnetwork: {message_overhead: 10 kB}"
    assert outcome(tmp_path, rounds, fleet=fleet, trace=trace) == (2, False)
    assert "longer than 10 s, one byte takes 10 s" in capsys.readouterr().err
