"""FedCore's Table 1: normalised times, stragglers, budgets (docs/algorithms.md, F.4), untrained."""

from pathlib import Path

import pytest

from simfl import Options, RunResult, run
from simfl.scenario import Document
from tests.run_folders import events

SCENARIO = Path(__file__).parents[2] / "scenarios" / "papers" / "fedcore_synthetic_times.yaml"
TIMES = {
    "FedAvg-10": 1.368,
    "FedAvg-DS-10": 0.693,
    "FedProx-10": 0.864,
    "FedCore-10": 0.926,
    "FedAvg-30": 4.802,
    "FedAvg-DS-30": 0.792,
    "FedProx-30": 0.948,
    "FedCore-30": 0.9994,
}
BUDGETS_10 = {3: 2366, 4: 1835, 24: 2425}
BUDGETS_30 = dict(
    zip(
        (0, 2, 3, 4, 11, 16, 24, 28, 29),
        (360, 378, 325, 355, 371, 370, 322, 369, 370),
        strict=True,
    )
)
EPOCHS_10 = {3: 5, 4: 8, 24: 5}
EPOCHS_30 = dict(zip(BUDGETS_30, (2, 9, 1, 2, 4, 4, 1, 4, 4), strict=True))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunResult]:
    out = tmp_path_factory.mktemp("fedcore")
    found = run(Document.load(SCENARIO), out, Options(time_only=True))
    return {result.provenance["variant"]: result for result in found}


@pytest.mark.parametrize("variant", TIMES)
def test_normalised_times_to_the_printed_digit(results: dict[str, RunResult], variant: str) -> None:
    measured = results[variant].summary["normalised_round_time"]["last_arrival"]
    assert measured == pytest.approx(TIMES[variant], abs=1e-3)


@pytest.mark.parametrize(("share", "tau"), [("10", 14191.267), ("30", 4043.421)])
def test_deadlines_are_those_worked_out_beforehand(
    results: dict[str, RunResult], share: str, tau: float
) -> None:
    rounds = results[f"FedCore-{share}"].rounds
    assert rounds.deadline_s.to_numpy() == pytest.approx(tau, abs=1e-3)


@pytest.mark.parametrize(("share", "budgets"), [("10", BUDGETS_10), ("30", BUDGETS_30)])
def test_stragglers_and_coreset_budgets(
    results: dict[str, RunResult], share: str, budgets: dict[int, int]
) -> None:
    sent = events(results[f"FedCore-{share}"].folder, "dispatched")
    assert {e["client"]: e["coreset_size"] for e in sent if e["coreset_size"]} == budgets


@pytest.mark.parametrize(("share", "epochs"), [("10", EPOCHS_10), ("30", EPOCHS_30)])
def test_fedprox_trains_as_many_epochs_as_were_worked_out(
    results: dict[str, RunResult], share: str, epochs: dict[int, int]
) -> None:
    sent = events(results[f"FedProx-{share}"].folder, "dispatched")
    assert {e["client"]: e["full_epochs"] for e in sent if e["full_epochs"] < 10} == epochs


def test_the_first_cohorts_are_those_of_the_authors(results: dict[str, RunResult]) -> None:
    selected = events(results["FedAvg-10"].folder, "selected")
    assert set(selected[0]["clients"]) == {17, 21, 10, 19, 14, 20, 26, 3, 24, 22}
    assert set(selected[1]["clients"]) == {1, 0, 14, 9, 21, 19, 23, 6, 3, 20}
