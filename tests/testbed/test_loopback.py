"""A real federation of two clients over the loopback, against its simulation."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCENARIO = """\
name: tiny
data: {dataset: {name: synthetic_images, samples: 200, test_samples: 50}, partition: iid}
model: logistic_regression
fleet:
  - {name: slow, count: 1, compute: SLOW samples/s}
  - {name: fast, count: 1, compute: 1000 samples/s}
training: {epochs: 1, batch_size: 20}
rounds: {ROUNDS, stop: {rounds: 3}}
"""


def refusal() -> str | None:
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return None
    except OSError as error:
        return f"no sockets here: {error}"


@pytest.fixture
def compared(tmp_path: Path) -> Any:
    """Return what the comparison finds under these rules."""
    pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")
    if why := refusal():
        pytest.skip(why)

    def call(rounds: str, slow: int, times: int = 1) -> dict[str, Any]:
        scenario, out = tmp_path / "tiny.yaml", tmp_path / "tiny.json"
        scenario.write_text(SCENARIO.replace("ROUNDS", rounds).replace("SLOW", str(slow)))
        words = [sys.executable, "-m", "testbed", str(scenario), "--loopback", "--out", str(out)]
        words += ["--repeat", str(times)]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        [result] = json.loads(out.read_text())["results"]
        return dict(result)

    return call


def test_everybody_arrives_and_no_round_is_shorter_than_the_slowest_device(compared: Any) -> None:
    result = compared("clients: 2", slow=200)
    assert result["measured_s"] >= 3 * 100 / 200
    assert 100 / 1000 < result["phases_s"]["compute"] < result["measured_s"]
    assert len(result["latency_s"]) == 2
    assert 0 < max(result["latency_s"]) < 0.1
    assert result["repeated"] is None
    assert result["plain"]["outcomes"] == 1
    assert result["plain"]["staleness"] == 1
    assert result["plain"]["total"] <= 0
    assert len(result["arrivals"]) == 6
    assert all(measured >= simulated for simulated, measured in result["arrivals"])
    assert len(result["accuracy"]["measured"]) == len(result["accuracy"]["simulated"]) == 3
    assert result["accuracy"]["measured"][-1] > 0.2  # ten classes


@pytest.mark.slow
def test_who_is_asked_beyond_need_is_called_off(compared: Any) -> None:
    rounds = "clients: 1, policy: {name: synchronous, over_select: 200%}"
    result = compared(rounds, slow=10, times=2)
    assert result["repeated"]["runs"] == 2
    assert result["repeated"]["outcomes"] == result["repeated"]["simulated"]["outcomes"] == 1
    assert len(result["others"]) == 1
    result = compared(rounds, slow=10)
    assert result["repeated"]["runs"] == 3
    assert result["rounds"] == 3
    assert result["plain"]["outcomes"] == 1
    assert result["measured_s"] >= 3 * 100 / 1000
    assert len(result["arrivals"]) == 3
