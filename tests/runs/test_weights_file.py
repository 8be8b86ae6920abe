"""Runs that begin with a given model: of another run, or what PyTorch wrote."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from simfl import Options, RunResult, Scenario, run
from simfl.cli import main
from simfl.errors import InputError
from simfl.runs.evaluation.evaluate import evaluate
from simfl.runs.folder.folder import SUMMARY
from simfl.runs.forks.fork import fork
from simfl.runs.run import resume
from simfl.runs.verify import verify
from tests.tiny import TINY

STILL = {"optimizer": {"name": "sgd", "lr": 1e-30}}
"""Training that moves no bit."""


@pytest.fixture
def first(tmp_path: Path) -> RunResult:
    """A run to go on from; its model lies in `start.pt`, too."""
    [result] = run(Scenario.from_dict(TINY), tmp_path / "first")
    shutil.copy(result.folder / "model.pt", tmp_path / "start.pt")
    return result


def after(tmp_path: Path, file: str = "start.pt", **changes: Any) -> Scenario:
    model = {**TINY["model"], "weights_file": file}
    return Scenario.from_dict(TINY | {"model": model} | changes, folder=tmp_path)


def weights(result: RunResult) -> bytes:
    tensors = torch.load(result.folder / "model.pt", weights_only=True).values()
    return b"".join(tensor.numpy().tobytes() for tensor in tensors)


def test_every_seed_begins_with_it(first: RunResult, tmp_path: Path) -> None:
    started = run(after(tmp_path, training=STILL), tmp_path / "o", Options(jobs=1), seeds=[1, 2])
    assert [weights(result) for result in started] == [weights(first)] * 2
    others = run(Scenario.from_dict(TINY | {"training": STILL}), tmp_path / "p", seeds=[1])
    assert weights(others[0]) != weights(first)
    assert list(started[0].contents) == ["start.pt"]


def test_training_goes_on(first: RunResult, tmp_path: Path) -> None:
    """Its first losses are those that the other run came to, not those that it began with."""
    [longer] = run(after(tmp_path), tmp_path / "o")
    losses = [float(np.nanmean(result.rounds["loss"])) for result in (first, longer)]
    assert losses[1] < losses[0]
    assert verify(longer.folder) is None
    forked = fork(longer.folder, np.inf, ["rounds.stop.rounds=5"])
    assert weights(resume(forked)) != weights(longer)


def test_it_has_changed(first: RunResult, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    [result] = run(after(tmp_path), tmp_path / "o")
    shutil.copy(result.folder / "model.pt", tmp_path / "start.pt")
    with pytest.raises(InputError, match=r"start.pt: other contents there than now"):
        run(after(tmp_path), tmp_path / "o")
    assert verify(result.folder) is not None
    assert "changed since it was begun: start.pt" in caplog.text
    caplog.clear()
    assert len(evaluate(result).clients) == TINY["fleet"]["count"]
    assert "changed since it ran: start.pt" in caplog.text
    (tmp_path / "start.pt").unlink()
    evaluate(result)  # what a run came to is known without what it began with
    (result.folder / SUMMARY).unlink()
    with pytest.raises(InputError, match=r"weights_file: .*start.pt: no such file"):
        resume(result.folder)


def test_no_run_replaces_what_others_begin_with(first: RunResult, tmp_path: Path) -> None:
    """Seed 1 would begin with what seed 0 has just come to."""
    scenario = after(tmp_path, "first/default/seed-0/model.pt")
    before = weights(first)
    with pytest.raises(InputError, match=r"seed-0 would be replaced, and with it .*model.pt, with"):
        run(scenario, tmp_path / "first", seeds=[1, 0], overwrite=True)
    assert weights(first) == before
    run(scenario, tmp_path / "first", seeds=[1])


def test_seeds_draw_a_new_head(first: RunResult, tmp_path: Path) -> None:
    model = {**TINY["model"], "weights_file": "start.pt", "reinitialised": ["1.bias"]}
    scenario = Scenario.from_dict(TINY | {"model": model, "training": STILL}, folder=tmp_path)
    files = [result.folder / "model.pt" for result in run(scenario, tmp_path / "o", seeds=[1, 2])]
    given, *both = (torch.load(file) for file in [tmp_path / "start.pt", *files])
    differ = [name for name in given if len({got[name].numpy().tobytes() for got in both}) > 1]
    assert differ == ["1.bias"]
    for got in both:
        assert all(torch.equal(got[name], given[name]) for name in given if name not in differ)


def test_no_fork_replaces_what_it_begins_with(first: RunResult, tmp_path: Path) -> None:
    file = "first/default/seed-0/model.pt"
    scenario = after(tmp_path, file, variants={"longer": {}})
    [longer] = run(scenario, tmp_path / "first")
    before = weights(first)
    with pytest.raises(InputError, match=r"seed-0 would be replaced, .*; give another name$"):
        fork(longer.folder, np.inf, ["rounds.stop.rounds=5"], "default", overwrite=True)
    assert weights(first) == before
    fork(longer.folder, np.inf, ["rounds.stop.rounds=5"])


def test_the_clock_needs_no_file(tmp_path: Path) -> None:
    clock = Options(time_only=True)
    [timed] = run(after(tmp_path, "nowhere.pt"), tmp_path / "o", clock)
    [plain] = run(Scenario.from_dict(TINY), tmp_path / "p", clock)
    assert timed.rounds.equals(plain.rounds)


SCENARIO = """\
data: {dataset: {name: synthetic_images, samples: 240, test_samples: 60, size: 6}}
fleet: {count: 8}
model:
  name: fedcor_mlp
  weights_file: start.pt
rounds: {clients: 4, stop: {rounds: 2}}
variants: {as given: {}, dropping: {model.dropout: 20%}}
"""


@pytest.mark.parametrize("command", ["validate", "run"])
def test_the_line_is_told(
    command: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCENARIO.replace("20%", "0.2"))
    assert main([command, "s.yaml"]) == 2
    where = f"s.yaml:5:17: model.weights_file: {tmp_path / 'start.pt'}: no such file"
    assert capsys.readouterr().err == f"error: {where}\n"
    torch.save({"a": torch.ones(1)}, "start.pt")
    assert main([command, "s.yaml"]) == 2
    told = "its tensors are not those of the scenario's model: it lacks 1.weight, 1.bias, 4.weight"
    assert told in capsys.readouterr().err
    assert not Path("runs").exists()
    assert main(["validate", "s.yaml", "--time-only"]) == 0


def test_options_without_effect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from simfl.scenario.cautions import cautions

    monkeypatch.chdir(tmp_path)
    model = {"name": "cnn", "init": "xavier_normal", "weights_file": "start.pt"}
    told = dict(cautions(after(tmp_path, model=model)))
    assert told["model", "init"] == "without effect: weights are those of `weights_file`"
    head = {"reinitialised": ["0.*"]}
    assert ("model", "init") not in dict(cautions(after(tmp_path, model=model | head)))
    told = dict(cautions(Scenario.from_dict(TINY | {"model": {**TINY["model"], **head}})))
    assert told["model", "reinitialised"].startswith("without effect: there is no `weights_file`")
