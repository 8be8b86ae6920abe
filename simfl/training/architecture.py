"""What can be known of a model before it is trained: does it fit the data, and what is in it?"""

import pickle
from contextlib import suppress

import torch
from torch import nn

from simfl.components.models.base import Model
from simfl.core.at_work import asking
from simfl.core.blame import blaming
from simfl.core.circumstances import Architecture
from simfl.core.machine.limits import free_memory
from simfl.errors import InputError
from simfl.training.batch_norm import has_batch_norm
from simfl.training.flat import Layout, ModelOptionError, build
from simfl.training.linear_calls import profile_width
from simfl.training.personal import personal_layout
from simfl.training.tokens import example_input, reads_tokens, takes_tokens

INPUTS = 2
"""Enough to see that the first dimension of the outputs is that of the inputs."""


def architecture_of(model: Model, shape: tuple[int, ...], classes: int) -> Architecture:
    """Build `model` without memory for its numbers, send inputs through it, and look at it.

    Raises:
        InputError: it can't be built or trained for such inputs, or its own code raises.
    """
    try:
        with torch.device("meta"), asking([model], "being tried"):
            return _look(model, shape, classes)
    except InputError:
        raise
    except (Exception, SystemExit):  # not all that a module may do goes without numbers
        pass
    with blaming(model, "being tried", told_as=InputError):
        return _look(model, shape, classes)


def try_with_numbers(model: Model, shape: tuple[int, ...], classes: int) -> None:
    """Refuse what no look at a user's `model` without numbers tells; one too large is not tried.

    Args:
        model: that `architecture_of` has looked at.
        shape: of one input.
        classes: number of outputs.

    Raises:
        InputError: it has parameters without numbers, gives other outputs each time that it is
            called as it changes an attribute of its own, or its own code raises.
    """
    try:
        with torch.device("meta"), asking([model], "being tried"):
            parameters = sum(p.numel() for p in build(model, shape, classes).parameters())
    except (Exception, SystemExit):  # it has been built with numbers, then
        parameters = 0
    if 4 * parameters > free_memory():
        return
    with blaming(model, "being tried", told_as=InputError):
        module = build(model, shape, classes)
        if changed := _remembered(module, example_input(module, shape, INPUTS)):
            raise InputError(
                f"model {model.name!r} gives other outputs for the same inputs each time, and "
                f"`forward` changes what it remembers ({', '.join(changed)}){_place(module)}; the "
                "parameters must be the whole model: who trains after whom may not matter"
            )


def _remembered(module: nn.Module, inputs: torch.Tensor) -> list[str]:
    """Return the attributes that forward passes change, if outputs do, too ([]: nobody can tell).

    What fills a cache, or keeps the last pass for whoever looks at it, changes none.
    """
    outputs, attributes = [], []
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            for _ in range(2):
                torch.default_generator.manual_seed(0)  # of dropout
                outputs.append(torch.stack([module.train(on)(inputs) for on in (False, True)]))
                attributes.append(_attributes(module))
    except Exception:  # zeros are not what it takes, perhaps
        return []
    (first, again), (before, after) = outputs, attributes
    if torch.allclose(first, again, rtol=1e-4, atol=1e-5, equal_nan=True):
        return []
    return [name for name in after if after[name] != before.get(name)]


def _attributes(module: nn.Module) -> dict[str, bytes]:
    """Return what the layers of `module` hold beside parameters, by name, to be compared."""
    usual, held = vars(nn.Module()), dict[str, bytes]()
    for path, layer in module.named_modules():
        for name in vars(layer).keys() - usual.keys():
            with suppress(Exception):  # of what can't be pickled there is no telling
                held[f"{path}.{name}".lstrip(".")] = pickle.dumps(vars(layer)[name])
    return held


def _look(model: Model, shape: tuple[int, ...], classes: int) -> Architecture:
    module = build(model, shape, classes).eval()
    if not Layout.of(module).size:
        what = f"model {model.name!r} has no parameters to train"
        if model.frozen:
            raise ModelOptionError({"frozen": f"{what}: all are frozen"})
        raise InputError(what)
    inputs = example_input(module, shape, INPUTS)
    with torch.enable_grad():
        outputs = module(inputs)
    if not isinstance(outputs, torch.Tensor) or outputs.shape != (INPUTS, classes):
        returned = getattr(outputs, "shape", type(outputs).__name__)
        raise InputError(
            f"model {model.name!r} must map {INPUTS} inputs to logits of shape "
            f"({INPUTS}, {classes}), one for each class, but gives "
            f"{tuple(returned) if isinstance(returned, torch.Size) else returned}"
        )
    if not outputs.requires_grad:
        raise InputError(
            f"model {model.name!r} has outputs without a gradient, so it can't be trained; does "
            f"`forward` detach them, or run under no_grad{_place(module)}?"
        )
    return Architecture(
        profile_width(module, inputs),
        takes_tokens(module, shape),
        has_batch_norm(module),
        reads_tokens(module, shape),
        Layout.of(module, frozen=True).size,
        personal_layout(module, model).size,
        Layout.of(module).size,
    )


def _place(module: nn.Module) -> str:
    """Return where a module's `forward` is written, in parentheses ("": not known)."""
    code = getattr(type(module).forward, "__code__", None)
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
