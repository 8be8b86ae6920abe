"""How well a final model serves each client, held against arithmetic of the tests' own."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from simfl import Options, RunResult, Scenario, run
from simfl.cli import main
from simfl.errors import InputError
from simfl.runs.evaluation.evaluate import evaluate
from tests.made_runs import made_run
from tests.run_folders import files
from tests.tiny import TINY, RunTiny

ROWS = [
    ("a", 0.1, 0.9, 0), ("a", 0.3, 0.7, 0), ("a", 0.8, 0.1, 1), ("b", 0.9, 0.2, 1),
    ("b", 0.6, 0.4, 1), ("c", 0.2, 0.8, 1), ("c", 0.4, 0.5, 0), ("c", 0.7, 0.6, 1),
    ("c", 0.5, 0.3, 0), ("b", 0.5, 0.5, 0), ("d", 0.3, 0.3, 0),
]  # fmt: skip
"""Whose a sample is, its two inputs and its class."""


@pytest.fixture
def owned(tmp_path: Path) -> RunResult:
    """A run whose clients' samples lie in a file; those of `d` are for testing."""
    lines = [f"{who},{x},{y},{label},{int(who == 'd')}" for who, x, y, label in ROWS]
    (tmp_path / "own.csv").write_text("who,x,y,label,test\n" + "\n".join(lines) + "\n")
    changes: dict[str, Any] = {
        "data": {
            "dataset": {"name": "csv", "file": "own.csv", "client": "who", "test": "test"},
            "partition": "natural",
        },
        "model": "logistic_regression",
        "fleet": {"count": 3, "compute": "50 samples/s"},
        "rounds": {"clients": 2, "stop": {"rounds": 3}},
    }
    [result] = run(Scenario.from_dict(TINY | changes, folder=tmp_path), tmp_path / "o")
    return result


def test_each_client_is_judged_on_its_own_samples(owned: RunResult) -> None:
    before = files(owned.folder)
    found = evaluate(owned).clients
    tensors = torch.load(owned.folder / "model.pt", weights_only=True)
    weight, bias = (tensor.double().numpy() for tensor in tensors.values())
    rows = pd.DataFrame(ROWS, columns=["who", "x", "y", "label"])
    assert found["client"].tolist() == [0, 1, 2]
    assert found["name"].tolist() == ["a", "b", "c"]
    assert found["samples"].tolist() == [3, 3, 4]
    for client, who in enumerate("abc"):
        own = rows[rows["who"] == who]
        logits = own[["x", "y"]].to_numpy() @ weight.T + bias
        labels = own["label"].to_numpy()
        losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(own)), labels]
        row = found.iloc[client]
        assert row["accuracy"] == pytest.approx((logits.argmax(1) == labels).mean())
        assert row["loss"] == pytest.approx(losses.mean(), rel=1e-6)
    assert files(owned.folder) == before


def test_who_is_served_how_well(run_tiny: RunTiny) -> None:
    """Slow devices are never in time, so nobody ever hears of them."""
    groups = [
        {"name": "fast", "count": 25, "compute": "100 samples/s"},
        {"name": "slow", "count": 5, "compute": "0.01 samples/s"},
    ]
    changes = {
        "fleet": groups,
        "rounds.clients": 20,
        "rounds.policy": {"name": "synchronous", "deadline": "30 s"},
    }
    result = run_tiny(changes)
    found = evaluate(result)
    table, (everybody, fast, slow, heard, never) = found.clients, found.spreads
    names = ["everybody", "fast", "slow", "heard", "never heard"]
    assert [spread.whom for spread in found.spreads] == names
    assert table["group"].tolist() == 25 * ["fast"] + 5 * ["slow"]
    assert table["participations"].tolist() == result.participations.tolist()
    counts = [spread.clients for spread in (everybody, fast, slow)]
    assert (counts, heard.clients + never.clients) == ([30, 25, 5], 30)
    assert never.clients >= 5
    accuracies = np.sort(table["accuracy"].to_numpy())
    assert everybody.mean == pytest.approx(accuracies.mean())
    assert everybody.std == pytest.approx(math.sqrt(((accuracies - everybody.mean) ** 2).mean()))
    assert everybody.worst_tenth == pytest.approx(sum(accuracies[:3]) / 3)
    assert everybody.best_tenth == pytest.approx(sum(accuracies[-3:]) / 3)
    right = (table["accuracy"] * table["samples"]).sum()
    assert everybody.pooled == pytest.approx(right / table["samples"].sum())
    assert slow.mean == pytest.approx(table["accuracy"][25:].mean())
    assert fast.worst_tenth == pytest.approx(np.sort(table["accuracy"][:25])[:3].mean())


def test_all_training_samples_together_are_what_the_run_evaluated(run_tiny: RunTiny) -> None:
    result = run_tiny({"evaluation.on": "train"})
    [everybody, *_] = evaluate(result).spreads
    assert everybody.pooled == pytest.approx(result.final_accuracy)


def test_samples_kept_aside(run_tiny: RunTiny) -> None:
    found = evaluate(run_tiny({"data.local_validation": 0.2}))
    assert found.kept_aside
    assert found.clients["samples"].tolist() == 8 * [6]


def test_a_regression_is_judged_by_its_loss(run_tiny: RunTiny) -> None:
    changes = {
        "data.dataset": "synthetic_regression",
        "data.partition": "natural",
        "training.loss": "mean_squared_error",
        "evaluation.metrics": ["mean_absolute_error"],
    }
    found = evaluate(run_tiny(changes))
    [everybody, *_] = found.spreads
    losses = found.clients["loss"]
    assert found.measure == "loss"
    assert everybody.mean == pytest.approx(losses.mean())
    assert (everybody.worst_tenth, everybody.best_tenth) == (losses.max(), losses.min())
    assert (found.clients["mean_absolute_error"] > 0).all()


@pytest.mark.filterwarnings("error")
def test_losses_that_diverged_have_no_spread(run_tiny: RunTiny) -> None:
    """NumPy warned, with a line of its own code, beside the table."""
    changes = {"data.dataset": "synthetic_regression", "training.loss": "mean_squared_error"}
    found = evaluate(run_tiny(changes))
    diverged = replace(found, clients=found.clients.assign(loss=math.inf))
    everybody, *_ = diverged.spreads
    assert math.isinf(everybody.mean)
    assert math.isnan(everybody.std)


def test_without_records_of_clients_nobody_was_heard_or_not(run_tiny: RunTiny) -> None:
    found = evaluate(run_tiny(None, Options(log="none")))
    assert (found.clients["participations"] == -1).all()
    assert [spread.whom for spread in found.spreads] == ["everybody"]


def test_the_model_of_a_fork_is_that_of_its_last_stage(run_tiny: RunTiny) -> None:
    """Its model is that of its last stage."""
    result = run_tiny()
    changed = ["--at", "end", "--set", "rounds.stop.rounds=6"]
    assert main(["fork", str(result.folder), *changed, "-q", "--no-report"]) == 0
    longer = RunResult(result.folder.parents[1] / "default-fork" / "seed-0")
    first, last = (evaluate(one).clients["loss"] for one in (result, longer))
    assert (first != last).any()


def test_what_can_not_be_evaluated(run_tiny: RunTiny) -> None:
    with pytest.raises(InputError, match="simulated time alone"):
        evaluate(run_tiny(None, Options(time_only=True)))
    folder = run_tiny().folder
    model = folder / "model.pt"
    tensors = torch.load(model, weights_only=True)
    torch.save({name: tensor[:1] for name, tensor in tensors.items()}, model)
    with pytest.raises(InputError, match=r"model.pt is damaged: its tensors are not those"):
        evaluate(RunResult(folder))
    model.write_bytes(b"torn")
    with pytest.raises(InputError, match=r"model.pt is damaged"):
        evaluate(RunResult(folder))
    torch.save(tensors, model)
    bits = bytearray(model.read_bytes())
    bits[bits.index(next(iter(tensors.values())).numpy().tobytes())] ^= 1
    model.write_bytes(bits)  # PyTorch reads it, and other accuracies were told
    with pytest.raises(InputError, match=r"model.pt is damaged: .*/data/0 is not what was written"):
        evaluate(RunResult(folder))
    model.unlink()
    with pytest.raises(InputError, match=r"model.pt is missing"):
        evaluate(RunResult(folder))
    (folder / "summary.json").unlink()
    with pytest.raises(InputError, match="has not finished; go on with"):
        evaluate(RunResult(folder))


def test_a_file_that_is_another_now(owned: RunResult, caplog: pytest.LogCaptureFixture) -> None:
    table = owned.folder.parents[2] / "own.csv"
    table.write_text(table.read_text().replace("0.1", "0.2"))
    evaluate(owned)
    assert "changed since it ran: " in caplog.text
    assert "own.csv" in caplog.text


def test_as_a_command(
    run_tiny: RunTiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders, out = [str(run_tiny({"seed": seed}).folder) for seed in (0, 1)], tmp_path / "all.csv"
    assert main(["evaluate", *folders, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    for seed in (0, 1):
        assert f"tiny, default, seed {seed}: accuracy of the final model on the samples" in told
    assert "that each client trains on" in " ".join(told.split())
    assert told.endswith(f"Table: {out}\n")
    table = pd.read_csv(out)
    assert (len(table), sorted(set(table["seed"]))) == (16, [0, 1])
    assert main(["evaluate", *folders, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [len(one["clients"]) for one in found] == [8, 8]
    assert found[0]["spreads"][0]["whom"] == "everybody"
    stopped = made_run(tmp_path, "stopped", 0, [0.5], finished=False)
    assert main(["evaluate", folders[0], str(stopped.folder), "--json"]) == 0
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 1
    assert printed.err == f"note: left out, not finished: {stopped.folder}\n"
    assert main(["evaluate", *folders, "--out", str(tmp_path / "all.txt")]) == 2
    assert "must end in .csv" in capsys.readouterr().err
