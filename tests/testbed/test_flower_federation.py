"""Flower beside the testbed's own federation: what is given of it, and what its logs tell."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from simfl import Options, Scenario, run
from simfl.errors import InputError
from testbed.compare import given_waits, waits
from testbed.flower import federation
from testbed.journals import read
from testbed.simulated import simulate
from testbed.wire import FLOWER

SIZE = 210_000
"""Bytes of the scenario's model."""
SCENARIO = Path(__file__).parents[2] / "testbed" / "scenarios" / "flower.yaml"


def test_polling_makes_the_rounds_of_a_slowest_device_longer_by_its_interval(
    tmp_path: Path,
) -> None:
    changes = ["data.dataset=synthetic_images", "rounds.stop.rounds=40", "fleet.0.count=1"]
    plain = Scenario.load(SCENARIO, [*changes, "rounds.clients=3"])
    given = federation.with_polling(plain, SIZE)
    times = [
        run(scenario, tmp_path / name, Options(time_only=True))[0].rounds.end_s.max() / 40
        for name, scenario in (("plain", plain), ("given", given))
    ]
    download_s = 8 * FLOWER.gross(SIZE) / 4e6
    constant_s = (federation.LAUNCH_S - download_s) ** 2 / 2 + federation.NOTICE_S / 2
    expected = federation.POLLING_S + constant_s
    # To within one look of the server in all, which the rounds' ends are whole numbers of.
    assert times[1] - times[0] == pytest.approx(expected, abs=2 * federation.POLLING_S / 40)


def test_what_flower_waits_for_is_told_by_its_journals(tmp_path: Path) -> None:
    facts = {"client": 0, "order": 0, "at": 100.0, "round": 0, "bytes": 8}
    ends = {"start": 100.0, "closed": 110.0, "end": 110.5}
    server = [
        {"event": "began", "at": 100.0},
        {"event": "ordered"} | facts,
        {"event": "round", "round": 0, "used": [{"order": 0, "staleness": 0}]} | ends,
        {"event": "looked", "at": 103.0, "took": 0.5},
        {"event": "looked", "at": 107.0, "took": 3.0},
        {"event": "looked", "at": 110.5, "took": 0.5},  # of the next round
        {"event": "arrived", "at": 108.0, "order": 0, "bytes": 8},
    ]
    steps = {"received": 102.0, "downloaded": 103.0, "launched": 103.5}
    node = [{"order": 0, name: at} for name, at in steps.items()]
    node += [{"order": 0, "computed": 106.0, "trained": 1.0}, {"order": 0, "noticed": 106.25}]
    for name, events in (("server", server), ("client-0", node)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(e) + "\n" for e in events))
    found = waits(read(tmp_path, 1, False, {}, []))
    waited = {"order": 2.0, "launch": 0.5, "notice": 0.25, "look": 2.0, "looking": 3.5}
    assert found == waited | {"model": 1.0, "training": 2.5, "update": 1.75}


def test_what_is_given_of_flower_waits_for_as_long_as_its_rounds_last() -> None:
    changes = ["data.dataset=synthetic_images", "rounds.stop.rounds=12", "rounds.clients=1"]
    changes += ["fleet={count: 1, compute: 41 samples/s, downlink: 4 Mbit/s, uplink: 2 Mbit/s}"]
    given = federation.with_polling(Scenario.load(SCENARIO, changes), SIZE)
    simulated = simulate(given, None, False, FLOWER)
    found = given_waits(given, simulated)
    assert found["model"] == pytest.approx(8 * FLOWER.gross(SIZE) / 4e6)
    assert found["update"] == pytest.approx(2 * found["model"])
    assert found["training"] == pytest.approx(20 * 32 / 41)
    assert found["notice"] == federation.NOTICE_S / 2
    assert sum(found.values()) == pytest.approx(simulated.rounds.end_s.max() / 12)


def test_a_latency_that_is_drawn_is_refused() -> None:
    drawn = "fleet.0.latency={distribution: exponential, mean: 50 ms}"
    with pytest.raises(InputError, match="a latency and a downlink that are numbers"):
        federation.with_polling(Scenario.load(SCENARIO, [drawn]), 4)


def test_an_environment_is_made_once_and_anew_for_other_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import environments

    commands = []

    def pretend(words: list[str], **_: object) -> None:
        commands.append(words[1:])
        (tmp_path / "lib" / "python3" / "site-packages").mkdir(parents=True, exist_ok=True)
        if "broken" in words:
            raise subprocess.CalledProcessError(1, words, stderr="ERROR: No matching distribution")

    monkeypatch.setattr(environments.subprocess, "run", pretend)
    for packages in (["one"], ["one"], ["two"]):
        programs = environments.environment(tmp_path, packages, ours=True)
        assert programs == tmp_path / "bin"
    assert [words[-1] for words in commands] == [str(tmp_path), "one", str(tmp_path), "two"]
    paths = (tmp_path / "lib" / "python3" / "site-packages" / "ours.pth").read_text().splitlines()
    assert paths
    assert all(path in sys.path for path in paths)
    with pytest.raises(environments.NotInstalled, match="No matching distribution"):
        environments.environment(tmp_path, ["broken"])
