"""Models as PyTorch keeps them: state dicts, and the files that hold them."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import torch
from torch import nn

from simfl.core.files import failure, no_file, similar_file
from simfl.core.types import Params
from simfl.core.words import few
from simfl.errors import InputError
from simfl.training.batch_norm import running_statistics
from simfl.training.flat import Layout, copied

CLIENTS, PARAMETERS = "clients", "parameters"
"""What a file of personal parameters holds instead: `(c,)` who has trained, and by name what each
has, `(c, *shape)`."""
_EXPECTED = "expected what `torch.save(model.state_dict(), ...)` writes"


def state_dict(module: nn.Module, params: Params) -> Mapping[str, torch.Tensor]:
    """Return a state dict of `module`, with `params` `(p,)` for those that are trained."""
    trained = Layout.of(module).views(copied(params))
    named = module.named_parameters()
    return {name: trained.get(name, parameter).detach().clone() for name, parameter in named}


def load_state_dict(
    module: nn.Module, tensors: Mapping[Any, Any], keep: Sequence[nn.Parameter] = ()
) -> None:
    """Give `module` the parameters of which `tensors` are the state dict.

    Floats of another precision are rounded to float32.  Running statistics of batch norm layers,
    which simfl's do without, are left out.

    Args:
        module: the model.
        tensors: by name.
        keep: parameters of `module` that stay as they are.  If there are any, `tensors` may have
            more than the others: those of the layers that were there instead of these.

    Raises:
        InputError: they are those of another model.
    """
    kept = {id(parameter) for parameter in keep}
    parameters = module.named_parameters(remove_duplicate=False)  # layers may share a parameter
    named = {name: parameter for name, parameter in parameters if id(parameter) not in kept}
    left_out = {*tensors} - {*named} if kept else running_statistics(module)
    given = {name: tensor for name, tensor in tensors.items() if name not in left_out}
    if wrong := list(_mismatches(named, given)):
        raise InputError(f"its tensors are not those of the scenario's model: {'; '.join(wrong)}")
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name in named:
                parameter.copy_(given[name])


def _mismatches(named: Mapping[str, nn.Parameter], given: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what tells the tensors `given` from the parameters of a model."""
    first: dict[int, str] = {}
    for name, parameter in named.items():
        first.setdefault(id(parameter), name)
    names = [*first.values()]
    if lacking := [name for name in names if name not in given]:
        yield f"it lacks {few(lacking)}"
    if unknown := [name for name in given if name not in named]:
        yield f"the model has no {few(map(str, unknown))}"
    for name, tensor in given.items():
        if name not in named:
            continue
        if not (isinstance(tensor, torch.Tensor) and tensor.is_floating_point()):
            kind = tensor.dtype if isinstance(tensor, torch.Tensor) else type(tensor).__name__
            yield f"{name} is {kind}, expected float32"
        elif tensor.shape != (shape := named[name].shape):
            yield f"{name} is {tuple(tensor.shape)}, expected {tuple(shape)}"
        elif name not in names:
            other = first[id(named[name])]
            if other in given and not torch.equal(given[other], tensor):
                yield f"{other} and {name}, which are one parameter of the model, differ"


def read_model(path: Path, module: nn.Module, keep: Sequence[nn.Parameter] = ()) -> None:
    """Give `module` the parameters that a file holds as a state dict, but for those to `keep`.

    Nothing in it is run.

    Raises:
        OSError: the file can't be read.
        InputError: it holds something else, or what it holds is not what was written.
    """
    with blaming_file():
        tensors = held_in(path)
        if not isinstance(tensors, Mapping):
            raise InputError(f"it holds a {type(tensors).__name__}, {_EXPECTED}")
        if {*tensors} == {CLIENTS, PARAMETERS}:
            raise InputError("it holds what each client has of its own; `model.pt` holds the model")
        if nested := [name for name, part in tensors.items() if isinstance(part, Mapping)]:
            raise InputError(f"it holds more than a state dict; save its {nested[0]!r} alone")
        load_state_dict(module, tensors, keep)


def held_in(path: Path) -> Any:
    """Return what a file of PyTorch's holds; nothing in it is run.  Raises all sorts of errors."""
    if is_zipfile(path):
        with ZipFile(path) as parts:  # PyTorch does not compare their checksums
            if part := parts.testzip():
                raise BadZipFile(f"{part} is not what was written")
    with warnings.catch_warnings(action="ignore"):  # of what is refused, or read all the same
        return torch.load(path, map_location="cpu", weights_only=True)


@contextmanager
def blaming_file() -> Iterator[None]:
    """Tell of whatever goes wrong that a file holds something else, unless it can't be read.

    Raises:
        OSError: it can't be.
        InputError: it holds something else, or what it holds is not what was written.
    """
    try:
        yield
    except (OSError, InputError):
        raise
    except UnpicklingError as error:  # PyTorch advises to run whatever it may hold
        raise InputError(f"it holds something else than tensors, {_EXPECTED}") from error
    except BadZipFile as error:
        raise InputError(f"{error}") from error
    except Exception as error:  # whatever PyTorch raises of a file that is none of its own, or cut
        raise InputError(f"it is no whole file of PyTorch's, {_EXPECTED}") from error


def begin_with(path: Path, module: nn.Module, keep: Sequence[nn.Parameter] = ()) -> None:
    """Give `module` the parameters that a file holds, to begin with, but for those to `keep`.

    Raises:
        InputError: it is missing, holds no such model, or numbers that are not finite.
    """
    if path.is_dir():
        inside = sorted(path.glob("*.pt"))
        hint = f"; did you mean '{inside[0]}'?" if inside else ""
        raise InputError(f"{path} is a folder, expected a file{hint}")
    if path.exists() and not path.is_file():  # it is looked into twice, which no pipe can be
        what = no_file(path) or "a pipe or a device"
        raise InputError(f"{path} is {what}, expected a file")
    try:
        read_model(path, module, keep)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file{similar_file(path)}") from None
    except OSError as error:
        raise failure(f"can't read {path}", error) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if not all(parameter.isfinite().all() for parameter in module.parameters()):
        raise InputError(f"{path}: not all of its numbers are finite")
