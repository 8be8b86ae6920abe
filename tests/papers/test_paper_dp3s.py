"""FL-DP3S, Fig. 2: the GEMD of uniform cohorts and of the k-DPP's on real MNIST, xi = 1."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "analysis" / "dp3s_gemd.py"


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("SIMFL_DATA"), reason="SIMFL_DATA names no data folder")
def test_cohorts_of_the_k_dpp_are_balanced() -> None:
    command = [sys.executable, str(SCRIPT), "--data-dir", os.environ["SIMFL_DATA"]]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}
    assert found["uniform"] == pytest.approx(
        0.66095, abs=0.02
    )  # closed form, docs/algorithms.md G.2
    assert found["k_dpp"] < 0.1
