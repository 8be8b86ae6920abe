"""Whole runs in which some devices attack: who is hurt by it, what it costs, and what can't be."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simfl import Options
from simfl.build.poisoned import poisoned
from simfl.components.attacks.base import attacks
from simfl.components.attacks.label_flip import LabelFlip
from simfl.components.datasets.clients import Samples
from simfl.core.seeds import Seeds
from simfl.errors import InputError, ScenarioError
from simfl.runs.job import jobs
from simfl.runs.run import resume, run_one
from simfl.training.data import Partitioned
from tests.runs.resuming import EAGER, FLAKY, Stopped, contents, scenario, stop_after
from tests.tiny import RunTiny

FLEET = {"compute": "50 samples/s", "uplink": "1 Mbit/s"}


def fleet(attack: Any, count: int = 3) -> dict[str, Any]:
    bad = {**FLEET, "name": "bad", "count": count, "attack": attack}
    return {"fleet": [{**FLEET, "name": "good", "count": 8 - count}, bad]}


FLIP = {"name": "sign_flip", "scale": 20}


def test_an_attack_costs_the_time_and_bytes_of_honest_work(run_tiny: RunTiny) -> None:
    runs = [run_tiny(fleet(attack)) for attack in (None, FLIP, "label_flip", "inner_product")]
    honest, *attacked = (run.rounds[["end_s", "upload_bytes", "download_bytes"]] for run in runs)
    assert all(table.equals(honest) for table in attacked)
    losses = [run.rounds["loss"].iloc[-1] for run in runs]
    assert len(set(losses)) == len(losses), "an attack that changes nothing"


def test_the_median_withstands_what_the_mean_does_not(run_tiny: RunTiny) -> None:
    everybody = {"rounds.clients": 8, "training.optimizer": {"name": "sgd", "lr": 0.1}}
    changes = {**fleet(FLIP, 2), **everybody}
    mean, median = [
        run_tiny({**changes, "aggregation": rule}).rounds["accuracy"].iloc[-1]
        for rule in ("fedavg", "median")
    ]
    assert median > mean + 0.2


def test_wrong_labels_are_learned_from_and_never_judged_by(run_tiny: RunTiny) -> None:
    """Who is wrong throughout learns the opposite, and is found to by the right labels."""
    wrong = {**fleet("label_flip", 8)}
    wrong["fleet"] = wrong["fleet"][1:]
    changes = {**wrong, "training.epochs": 8, "training.optimizer": {"name": "sgd", "lr": 0.1}}
    for on in ("test", "train"):
        assert run_tiny({**changes, "evaluation.on": on}).rounds["accuracy"].iloc[-1] < 0.06


@pytest.mark.parametrize("attack", attacks.names())
def test_until_an_attack_begins_all_are_honest(run_tiny: RunTiny, attack: str) -> None:
    everybody = {"rounds.clients": 8}
    honest, early, late = [
        run_tiny({**fleet(own), **everybody}).rounds["loss"].to_numpy()
        for own in (None, attack, {"name": attack, "from_round": 3})
    ]
    assert (late[:2] == honest[:2]).all()
    assert (late[2:] != honest[2:]).all()
    assert (early != honest).all()


def test_until_an_attack_begins_its_devices_ask_their_filter(run_tiny: RunTiny) -> None:
    withheld = {"training.filter": {"name": "cmfl", "threshold": 1}}
    late = run_tiny({**withheld, **fleet({**FLIP, "from_round": 3}), "rounds.clients": 8}).clients
    bad = late["client"] >= 5
    assert set(late["outcome"][bad & (late["round"] == 2)]) == {"filtered"}
    assert set(late["outcome"][bad & (late["round"] == 3)]) == {"arrived"}


@pytest.mark.parametrize("attack", [FLIP, "a_little_is_enough", "gaussian"])
def test_interrupted_it_comes_out_the_same(tmp_path: Path, attack: Any) -> None:
    changes = {**fleet(attack), "training.compression": "quantize", **FLAKY}
    changes = {k: v for k, v in changes.items() if not k.startswith("fleet.")}
    [whole] = jobs(scenario(changes), tmp_path / "whole")
    expected = contents(run_one(whole, Options()).folder)
    [job] = jobs(scenario(changes), tmp_path / "cut")
    with pytest.raises(Stopped):
        run_one(job, EAGER, listeners=[stop_after(25)])
    assert contents(resume(job.folder, EAGER).folder) == expected


def test_forgers_do_not_ask_a_filter_on_the_client(run_tiny: RunTiny) -> None:
    withheld = {"training.filter": {"name": "cmfl", "threshold": 1}, **fleet(FLIP)}
    table = run_tiny(withheld).clients
    later = table[table["round"] > 1]
    bad = later["client"] >= 5
    assert bad.any()
    assert set(later["outcome"][bad]) == {"arrived"}
    assert set(later["outcome"][~bad]) == {"filtered"}


@pytest.mark.parametrize("compression", ["none", {"name": "top_k", "error_feedback": True}])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_is_forged_and_not_finite_is_discarded(run_tiny: RunTiny, compression: Any) -> None:
    """As if nothing had come of its work; the run ended with an error instead."""
    overflow = fleet({"name": "sign_flip", "scale": 1e39})
    run = run_tiny({**overflow, "training.compression": compression})
    bad = run.clients["client"] >= 5
    assert set(run.clients["outcome"][bad]) == {"discarded"}
    assert set(run.clients["outcome"][~bad]) == {"arrived"}
    assert np.isfinite(run.rounds["loss"]).all()


def data_of(rows: list[list[int]]) -> Partitioned:
    y = np.arange(12) % 4
    train = [np.array(own, dtype=np.int64) for own in rows]
    return Partitioned(Samples(np.zeros((12, 1), np.float32), y), train, [train[0][:0]] * 3, 4)


def test_labels_are_wrong_with_attackers_only() -> None:
    data = data_of([[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]])
    wrong = poisoned(data, range(1, 3), LabelFlip(), 4, Seeds(0))
    assert isinstance(wrong, Partitioned)
    right = np.arange(12) % 4
    assert np.array_equal(data.samples.y, right), "the data set's own labels were changed"
    assert wrong.samples.y.tolist() == np.where(np.arange(12) % 3, 3 - right, right).tolist()


def test_labels_that_are_wrong_later_lie_behind_the_right_ones() -> None:
    data = data_of([[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]])
    late = LabelFlip(from_round=3)
    wrong = poisoned(poisoned(data, [1], late, 4, Seeds(0)), [2], LabelFlip(), 4, Seeds(0))
    sent = pickle.loads(pickle.dumps(wrong))
    right = np.arange(12) % 4
    for told in (wrong, sent):
        cohort = told.training_in([0, 1, 1, 2], [9, 2, 3, 1])
        labels = [cohort.y[rows].tolist() for rows in cohort.rows]
        flipped = 3 - right
        assert labels == [
            right[0::3].tolist(), right[1::3].tolist(), flipped[1::3].tolist(),
            flipped[2::3].tolist(),
        ]  # fmt: skip
        at = [told.validation_in([1], round_) for round_ in (2, 3)]
        assert [own.y[own.rows[0]].tolist() for own in at] == labels[1:3]
        assert [told.altered(1, round_) for round_ in (2, 3)] == [False, True]
        assert told.sizes.tolist() == [4, 4, 4]


def test_labels_of_samples_that_others_have_too_can_not_be_wrong() -> None:
    with pytest.raises(InputError, match="client 1 has samples that were dealt more than once"):
        poisoned(data_of([[0, 1], [1, 2], [3]]), [1], LabelFlip(), 4, Seeds(0))


def test_an_attack_in_the_wrong_place_is_told_with_its_line(run_tiny: RunTiny) -> None:
    numbers = {"name": "synthetic_regression", "clients": 8}
    with pytest.raises(ScenarioError, match=r"fleet\[1\]\.attack: .* one class each"):
        run_tiny({**fleet("label_flip"), "data.dataset": numbers})
