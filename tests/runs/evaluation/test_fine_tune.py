"""What clients make of a final model by themselves, computed anew in NumPy."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from simfl import Options, RunResult, Scenario, run
from simfl.cli import main
from simfl.components.datasets.synthetic_images import SyntheticImages
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.runs.evaluation.evaluate import evaluate
from tests.run_folders import files
from tests.tiny import TINY, RunTiny

SIZES = (8, 12, 4, 1)
"""Samples of each client, of which a quarter is kept aside; the last has too few."""
ASIDE = {"data.local_validation": "25%"}


@pytest.fixture
def owned(tmp_path: Path) -> tuple[RunResult, NDArray[np.float64], NDArray[np.int64]]:
    """A run whose clients train on all of their samples in a step, and the samples."""
    rng = np.random.default_rng(4)
    client = np.repeat(np.arange(len(SIZES) + 1), (*SIZES, 1))  # another's is for testing
    x = rng.normal(size=(len(client), 2)).astype(np.float32)
    y = (x[:, 0] + np.where(client % 2, 1, -1) * x[:, 1] > 0).astype(np.int64)
    np.savez(tmp_path / "own.npz", x=x, y=y, client=client, test=client == 4)
    changes: dict[str, Any] = {
        "data": {
            "dataset": {"name": "npz", "file": "own.npz", "client": "client", "test": "test"},
            "partition": "natural",
            "local_validation": "25%",
        },
        "model": "logistic_regression",
        "fleet": {"count": 4, "compute": "50 samples/s"},
        "training": {
            "batch_size": 32,
            "proximal": 1.0,
            "optimizer": {"name": "sgd", "lr": 0.8, "momentum": 0.5},
            "lr_schedule": {"name": "exponential", "decay": 0.5},
        },
        "rounds": {"clients": 2, "stop": {"rounds": 2}},
    }
    [result] = run(Scenario.from_dict(TINY | changes, folder=tmp_path), tmp_path / "o")
    return result, x.astype(np.float64), y


def test_it_is_local_training_without_a_proximal_term(
    owned: tuple[RunResult, NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """At the rate of the third round, a quarter of the first's."""
    result, x, y = owned
    before = files(result.folder)
    found = evaluate(result, fine_tune=3)
    assert files(result.folder) == before
    assert found.fine_tuning is not None
    assert found.fine_tuning.learning_rate == pytest.approx(0.2)
    assert found.fine_tuning.left_out == 1
    assert found.clients["client"].tolist() == [0, 1, 2]
    tensors = torch.load(result.folder / "model.pt", weights_only=True).values()
    model = np.vstack([t.double().numpy().T.reshape(-1, 2) for t in tensors])  # biases last
    x = np.hstack([x, np.ones((len(x), 1))])
    ends = np.cumsum(SIZES)
    for client, (end, size) in enumerate(zip(ends[:3], SIZES, strict=False)):
        shuffled = Seeds(result.seed).stream("data", "validation", client).permutation(size)
        train, aside = np.split(end - size + shuffled, [size - size // 4])
        own, velocity = model.copy(), np.zeros_like(model)
        for _ in range(3):
            chances = np.exp(x[train] @ own)
            chances /= chances.sum(1, keepdims=True)
            chances[np.arange(len(chances)), y[train]] -= 1
            velocity = 0.5 * velocity + x[train].T @ chances / len(chances)
            own -= 0.2 * velocity
        row = found.clients.iloc[client]
        assert row["samples"] == size // 4
        for name, weights in (("", model), ("fine_tuned_", own)):
            logits, labels = x[aside] @ weights, y[aside]
            losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(labels)), labels]
            assert row[f"{name}loss"] == pytest.approx(losses.mean(), rel=1e-5)
            assert row[f"{name}accuracy"] == (logits.argmax(1) == labels).mean()


def test_who_gains_and_who_loses(run_tiny: RunTiny) -> None:
    """Slow devices are never in time, so nobody ever hears of them."""
    groups = [
        {"name": "fast", "count": 12, "compute": "100 samples/s"},
        {"name": "slow", "count": 4, "compute": "0.01 samples/s"},
    ]
    changes = {
        "fleet": groups,
        "data.partition": {"name": "dirichlet", "alpha": 0.3},
        "rounds.clients": 12,
        "rounds.policy": {"name": "synchronous", "deadline": "30 s"},
        **ASIDE,
    }
    result = run_tiny(changes)
    found = evaluate(result, fine_tune=2)
    table, spreads = found.clients, found.fine_tuned_spreads
    assert [spread.whom for spread in spreads] == [spread.whom for spread in found.spreads]
    assert {"fast", "slow", "heard", "never heard"} < {spread.whom for spread in spreads}
    for spread in spreads:
        of = {"everybody": table["client"] >= 0, "heard": table["participations"] > 0}
        of |= {"never heard": ~of["heard"], "fast": table["group"] == "fast"}
        who = table[of.get(spread.whom, table["group"] == "slow")]
        change = who["fine_tuned_accuracy"] - who["accuracy"]
        assert spread.mean == pytest.approx(who["fine_tuned_accuracy"].mean())
        assert spread.change == pytest.approx(change.mean())
        assert spread.worse == (change < 0).sum()
    plain = evaluate(result).clients.set_index("client")
    own = table.set_index("client")[plain.columns.to_list()]
    assert own.equals(plain.loc[own.index])  # it is judged on the same samples as without
    assert evaluate(result, fine_tune=2).clients.equals(table)


@pytest.mark.filterwarnings("error")
def test_a_loss_is_worse_where_it_is_higher_or_none(run_tiny: RunTiny) -> None:
    changes = {"data.dataset": "synthetic_regression", "training.loss": "mean_squared_error"}
    found = evaluate(run_tiny({**changes, **ASIDE}), fine_tune=1)
    [everybody] = [spread for spread in found.fine_tuned_spreads if spread.whom == "everybody"]
    change = found.clients["fine_tuned_loss"] - found.clients["loss"]
    assert everybody.change == pytest.approx(change.mean())
    assert everybody.worse == (change > 0).sum() < len(change)
    lost = found.clients.assign(loss=math.inf, fine_tuned_loss=math.nan)
    [everybody, *_] = replace(found, clients=lost).fine_tuned_spreads
    assert everybody.worse == everybody.clients
    assert math.isnan(everybody.change)


def test_a_device_is_decided_as_for_a_run(run_tiny: RunTiny) -> None:
    result = run_tiny(ASIDE)
    found = evaluate(result, Options(executor="inline", device="auto"), fine_tune=1)
    assert found.clients["fine_tuned_loss"].notna().all()
    with pytest.raises(InputError, match="device 'cuda:99' is not there"):
        evaluate(result, Options(executor="inline", device="cuda:99"), fine_tune=1)


@pytest.mark.slow
def test_processes_change_no_bit(run_tiny: RunTiny) -> None:
    result = run_tiny(ASIDE)
    alone, together = (
        evaluate(result, options, fine_tune=1).clients
        for options in (Options(executor="inline"), Options(executor="processes", workers=2))
    )
    assert alone.equals(together)


class SometimesOnDemand(SyntheticImages):
    """Could make samples on demand, but does not."""

    def lazy(self, clients: int, seeds: Seeds) -> None:
        return None


def test_nobody_keeps_samples_aside(run_tiny: RunTiny) -> None:
    """A client would be judged on what it was fine-tuned on."""
    own = {"name": f"{__name__}:SometimesOnDemand", "samples": 240, "size": 6}
    for changes in ({}, {"data.dataset": own}):
        with pytest.raises(InputError, match=r"run it with a share in `data.local_validation`"):
            evaluate(run_tiny(changes), fine_tune=1)
    generated = {"data.dataset": "generated", "model": "logistic_regression", **ASIDE}
    with pytest.raises(InputError, match="data set 'generated' keeps none aside"):
        evaluate(run_tiny(generated), fine_tune=1)


def test_as_a_command(
    run_tiny: RunTiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = str(run_tiny(ASIDE).folder), tmp_path / "own.csv"
    assert main(["evaluate", folder, "--fine-tune", "2", "--out", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "on the samples that each client keeps aside" in told
    assert "after 2 epochs of fine-tuning on the samples that each client trains on" in told
    assert "mean change worse std" in told
    assert re.search(r"everybody [\d.]+% [+-][\d.]+ points \d", told)
    assert (
        out.read_text()
        .splitlines()[0]
        .endswith("samples,accuracy,loss,fine_tuned_accuracy,fine_tuned_loss")
    )
    assert main(["evaluate", folder, "--fine-tune", "2", "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["fine_tuning"]["epochs"], found["fine_tuning"]["left_out"]) == (2, 0)
    assert {"change", "worse", "mean"} < set(found["fine_tuning"]["spreads"][0])
    assert main(["evaluate", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["fine_tuning"] is None


def test_several_seeds_have_a_table_over_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each seed had a table of its own alone, and how far they scatter was to be worked out."""
    scenario = {**TINY, "seeds": [0, 1], "data": {**TINY["data"], "local_validation": "25%"}}
    results = run(Scenario.from_dict(scenario), tmp_path / "o", Options(jobs=1))
    found = [evaluate(result, fine_tune=1) for result in results]
    assert main(["evaluate", str(tmp_path / "o"), "--fine-tune", "1"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "default, over 2 seeds: accuracy of the final models on the samples" in told
    tables = told[told.index("over 2 seeds") :].split("everybody ")
    for table, spreads in (
        (tables[1], [evaluation.spreads[0] for evaluation in found]),
        (tables[2], [evaluation.fine_tuned_spreads[0] for evaluation in found]),
    ):
        best = [spread.best_tenth for spread in spreads]
        assert f"{np.mean([spread.mean for spread in spreads]):.1%} " in table
        assert f"{np.mean(best):.1%} ± {np.std(best, ddof=1):.1%}" in table
    change = 100 * np.mean([evaluation.fine_tuned_spreads[0].change for evaluation in found])
    assert f"{change:+.2f} points [" in tables[2]
    assert main(["evaluate", str(results[0].folder)]) == 0
    assert "over" not in capsys.readouterr().out
