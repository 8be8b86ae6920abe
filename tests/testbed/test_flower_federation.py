"""Flower beside the testbed's own federation: what is given of it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from simfl import Options, Scenario, run
from simfl.errors import InputError
from testbed.flower import federation
from testbed.wire import FLOWER
from tests.testbed.made import FLOWER_SCENARIO as SCENARIO
from tests.testbed.made import FLOWER_SIZE as SIZE


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
