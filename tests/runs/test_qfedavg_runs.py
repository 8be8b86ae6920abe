"""Whole runs with q-FedAvg: what participants' losses cost."""

import pytest

from simfl.runs.results.result import RunResult
from tests.tiny import RunTiny

FREE = {"name": "uniform", "charge_probes": False}


@pytest.mark.parametrize("selection", ["uniform", FREE, "afl"])
def test_a_loss_costs_a_forward_pass_and_four_bytes(run_tiny: RunTiny, selection: object) -> None:
    """Whether the selector's questions cost something or not, and once if it asks the same."""
    runs = [
        run_tiny({"selection": selection, "aggregation": aggregation})
        for aggregation in ("fedavg", "qfedavg")
    ]
    plain, fair = (_costs(run) for run in runs)
    if selection == "afl":
        assert fair == pytest.approx(plain)
    else:
        assert fair[0] == pytest.approx(plain[0] + 4)
        assert fair[1] > plain[1]


def _costs(run: RunResult) -> tuple[float, float]:
    """Return the bytes that its first participation sends, and when it has computed."""
    first = run.clients.sort_values(["round", "client"]).iloc[0]
    return first["upload_bytes"], first["compute_end_s"] - first["selected_s"]
