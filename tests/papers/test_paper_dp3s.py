"""FL-DP3S, Fig. 2: the GEMD of uniform cohorts and of the k-DPP's on real MNIST, xi = 1."""

import os
from pathlib import Path

import pytest

from simfl import Options
from simfl.papers.claims import median
from simfl.papers.item import items
from simfl.papers.repeat import repeat

ROWS = ("uniform_dataset=mnist_xi=1", "DP3S_dataset=mnist_xi=1")


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("SIMFL_DATA"), reason="SIMFL_DATA names no data folder")
def test_cohorts_of_the_k_dpp_are_balanced(tmp_path: Path) -> None:
    [item] = items("dp3s/fig2-gemd")
    item = item.model_copy(update={"printed": dict.fromkeys(ROWS, "")})
    uniform, k_dpp = (median(repeat(item, tmp_path, Options(), [0]), row) for row in ROWS)
    assert uniform == pytest.approx(0.66095, abs=0.04)  # closed form, docs/algorithms.md G.2
    assert k_dpp < 0.1
