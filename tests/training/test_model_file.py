"""Models in files: what PyTorch wrote is read, and all else is refused in the user's words."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from simfl.components.models.mlp import Mlp
from simfl.core.types import Params
from simfl.errors import InputError
from simfl.training.flat import flatten, initial_params
from simfl.training.model_file import begin_with, load_state_dict, state_dict

SHAPE, CLASSES = (4,), 3


def module() -> nn.Module:
    return Mlp(hidden=(5,)).build(SHAPE, CLASSES)


def read(path: Path) -> Params:
    read_into = module()
    begin_with(path, read_into)
    return flatten(read_into)


def loaded(model: nn.Module, tensors: dict[str, torch.Tensor]) -> Params:
    load_state_dict(model, tensors)
    return flatten(model)


def test_there_and_back(tmp_path: Path) -> None:
    params = initial_params(Mlp(hidden=(5,)), SHAPE, CLASSES, seed=1)
    torch.save(state_dict(module(), params), tmp_path / "m.pt")
    assert read(tmp_path / "m.pt").tobytes() == params.tobytes()
    other = module()  # as a script of PyTorch's keeps its own, in the format of old, and halved
    torch.save(other.state_dict(), tmp_path / "m.pt", _use_new_zipfile_serialization=False)
    assert read(tmp_path / "m.pt").tobytes() == flatten(other).tobytes()
    torch.save(other.half().state_dict(), tmp_path / "m.pt")
    assert np.allclose(read(tmp_path / "m.pt"), flatten(other.float()))


def test_running_statistics_are_left_out() -> None:
    trained = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False))
    tensors = trained.state_dict()
    assert "1.running_mean" in tensors
    assert np.array_equal(loaded(model, tensors), flatten(trained))
    with pytest.raises(InputError, match=r"the model has no 0.running_mean"):
        loaded(model, {**tensors, "0.running_mean": torch.zeros(3)})


def test_what_is_kept_may_be_lacking_or_another() -> None:
    body, model = nn.Linear(4, 5), nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3))
    head = flatten(model[1])
    for old in (nn.Linear(5, 7), nn.Linear(5, 3)):
        load_state_dict(model, nn.Sequential(body, old).state_dict(), [*model[1].parameters()])
        assert np.array_equal(flatten(model), np.append(flatten(body), head))
    trunk = {f"0.{name}": tensor for name, tensor in body.state_dict().items()}
    load_state_dict(model, {**trunk, "classifier.bias": head}, [*model[1].parameters()])
    with pytest.raises(
        InputError, match=r"it lacks 0.bias; 0.weight is \(4, 5\), expected \(5, 4\)"
    ):
        load_state_dict(model, {"0.weight": body.weight.T}, [*model[1].parameters()])


def test_layers_that_share_a_parameter() -> None:
    """PyTorch keeps it once for each of them."""
    tied = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    tied[1].weight = tied[0].weight
    tensors = {name: tensor.clone() for name, tensor in tied.state_dict().items()}
    before = flatten(tied)
    assert np.array_equal(loaded(tied, tensors), before)
    tensors["1.weight"] = torch.zeros(4, 4)
    with pytest.raises(InputError, match=r"0.weight and 1.weight, which are one parameter"):
        loaded(tied, tensors)


def _changed(**tensors: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        kept = {n.replace(".", "_"): t for n, t in module().state_dict().items()} | tensors
        named = {n.replace("_", "."): t for n, t in kept.items() if t is not None}
        torch.save(named, path)

    return write


def _biased(bias: Any) -> Callable[[Path], None]:
    return _changed(**{"1_bias": bias})


def _flipped(path: Path) -> None:
    tensors = module().state_dict()
    torch.save(tensors, path)
    data = bytearray(path.read_bytes())
    data[data.index(tensors["1.weight"].numpy().tobytes())] ^= 1
    path.write_bytes(data)


def _cut(path: Path) -> None:
    torch.save(module().state_dict(), path)
    path.write_bytes(path.read_bytes()[:500])


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda _: None, r"modell.pt: no such file; did you mean '.*model.pt'\?"),
    "a folder": (Path.mkdir, "modell.pt is a folder, expected a file"),
    "text": (lambda path: path.write_text("name: x"), "something else than tensors, expected what"),
    "nothing": (lambda path: path.write_bytes(b""), "it is no whole file of PyTorch's, "),
    "a word": (lambda path: path.write_text("hello"), "it is no whole file of PyTorch's"),
    "half": (_cut, "modell.pt: it is no whole file of PyTorch's, expected what"),
    "a whole module": (lambda path: torch.save(module(), path), "something else than tensors"),
    "code": (lambda path: path.write_bytes(pickle.dumps(print)), "something else than tensors"),
    "a list": (lambda path: torch.save([1], path), r"holds a list, expected what `torch.save\("),
    "a checkpoint": (
        lambda path: torch.save({"epoch": 1, "net": module().state_dict()}, path),
        "it holds more than a state dict; save its 'net' alone",
    ),
    "personal layers": (
        lambda path: torch.save({"clients": torch.arange(2), "parameters": {}}, path),
        "it holds what each client has of its own; `model.pt` holds the model$",
    ),
    "another shape": (_biased(torch.ones(6)), r"1.bias is \(6,\), expected \(5,\)"),
    "fewer": (_biased(None), "it lacks 1.bias$"),
    "more": (_changed(head=torch.ones(1)), "the model has no head$"),
    "whole numbers": (_biased(torch.ones(5).int()), "1.bias is torch.int32, expected"),
    "no tensor": (_biased(3), "1.bias is int, expected float32"),
    "no number": (_biased(torch.full((5,), torch.nan)), "not all of its numbers"),
    "too large": (_biased(torch.full((5,), 1e99, dtype=torch.float64)), "numbers are"),
    "a flipped bit": (_flipped, "modell.pt: .* is not what was written"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_do_not_fit_the_model_are_refused(case: str, tmp_path: Path) -> None:
    write, message = REFUSED[case]
    (tmp_path / "model.pt").touch()
    write(tmp_path / "modell.pt")
    with pytest.raises(InputError, match=message):
        read(tmp_path / "modell.pt")
