"""NVIDIA FLARE's edge example: latencies against order statistics, in moments of host time."""

from pathlib import Path

import numpy as np
import pytest

from simfl import Options, Scenario, run

SCENARIO = Path(__file__).parents[2] / "scenarios" / "papers" / "nvflare_edge.yaml"


def expected_largest(n: int) -> float:
    """Return E of the largest of `n` standard normals: the integral of z d(Phi(z)^n)."""
    from scipy.special import ndtr

    z = np.linspace(-9, 9, 20_001)
    return float(np.sum((z[1:] + z[:-1]) / 2 * np.diff(ndtr(z) ** n)))


def test_the_largest_of_few_normals() -> None:
    assert [expected_largest(n) for n in (1, 2, 3, 5)] == pytest.approx(
        [0, 1 / np.sqrt(np.pi), 1.5 / np.sqrt(np.pi), 1.16296], abs=1e-5
    )


@pytest.fixture(scope="module")
def latencies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, tuple[float, ...]]]:
    """Return per variant and seed the mean latency, and how many devices each class has."""
    out = tmp_path_factory.mktemp("nvflare")
    results = run(Scenario.load(SCENARIO), out, Options(time_only=True))
    found: dict[str, dict[int, tuple[float, ...]]] = {"synchronous": {}, "asynchronous": {}}
    for result in results:
        clients = result.clients
        took = (clients.upload_end_s - clients.selected_s).groupby(clients.client).mean()
        counts = np.bincount(np.digitize(took, [155, 305]), minlength=3)
        if result.provenance["variant"] == "synchronous":
            mean = (result.rounds.end_s - result.rounds.start_s).mean()
        else:
            mean = took.mean()  # of a device, however often it came back
        found[result.provenance["variant"]][result.provenance["seed"]] = (mean, *counts)
    return found


@pytest.mark.slow
def test_synchronous_rounds_take_as_long_as_the_slowest_of_their_class(latencies) -> None:
    for mean, _, _, slowest in latencies["synchronous"].values():
        assert slowest > 0
        assert mean == pytest.approx(400 + 4 * expected_largest(slowest) + 5, rel=0.01)


@pytest.mark.slow
def test_asynchronous_updates_take_as_long_as_a_device(latencies) -> None:
    for mean, *counts in latencies["asynchronous"].values():
        assert mean == pytest.approx(np.dot(counts, [100, 200, 400]) / 16 + 5, rel=0.01)


@pytest.mark.slow
def test_both_policies_meet_the_same_fleet(latencies) -> None:
    for seed, (_, *counts) in latencies["synchronous"].items():
        assert latencies["asynchronous"][seed][1:] == tuple(counts)
