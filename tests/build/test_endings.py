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
    assert outcome(tmp_path, TIMEOUT, "time: 10 min") == (0, True)


def test_a_timeout_that_the_fastest_can_keep(tmp_path: Path) -> None:
    assert outcome(tmp_path, TIMEOUT.replace("1 s", "1 h")) == (0, True)


NAMES = "policy: {{name: {}, deadline: 1 s}}"


@pytest.mark.parametrize(
    ("policy", "stop", "code"),
    [
        ("synchronous", "accuracy: 99%", 2),
        ("synchronous", "accuracy: 99%, rounds: 2", 0),
        ("synchronous", "rounds: 2", 0),
        ("tiered", "rounds: 2", 2),
        ("tiered", "rounds: 2, time: 1 min", 0),
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


SHORT = ", availability: {name: trace, file: trace.csv}, on_offline: "


@pytest.mark.parametrize(
    ("policy", "stop", "on_offline", "code"),
    [
        ("fedbuff", "rounds: 2", "abort", 2),
        ("tiered", "rounds: 2", "abort", 2),
        ("synchronous", "accuracy: 99%", "abort", 2),
        ("fedbuff", "rounds: 2", "pause", 0),
        ("fedbuff", "rounds: 2, time: 10 min", "abort", 0),
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
