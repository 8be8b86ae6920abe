"""What can be known of a model before it is trained: does it fit the data, and what is in it?"""

import torch

from simfl.components.models.base import Model
from simfl.core.at_work import asking
from simfl.core.blame import blaming
from simfl.core.circumstances import Architecture
from simfl.core.machine.limits import free_memory
from simfl.errors import InputError
from simfl.training.batch_norm import has_batch_norm
from simfl.training.flat import (
    Layout,
    ModelOptionError,
    build,
    example_input,
    reads_tokens,
    takes_tokens,
)
from simfl.training.linear_calls import profile_width

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


def require_numbers(model: Model, shape: tuple[int, ...], classes: int) -> None:
    """Refuse a `model` that leaves its numbers out by itself; one too large is not looked at.

    Args:
        model: that `architecture_of` has looked at.
        shape: of one input.
        classes: number of outputs.

    Raises:
        InputError: it does, or its own code raises.
    """
    try:
        with torch.device("meta"), asking([model], "being tried"):
            parameters = sum(p.numel() for p in build(model, shape, classes).parameters())
    except (Exception, SystemExit):  # it has been built with numbers, then
        return
    if 4 * parameters <= free_memory():
        with blaming(model, "being built", told_as=InputError):
            build(model, shape, classes)


def _look(model: Model, shape: tuple[int, ...], classes: int) -> Architecture:
    module = build(model, shape, classes).eval()
    if not Layout.of(module).size:
        what = f"model {model.name!r} has no parameters to train"
        if model.frozen:
            raise ModelOptionError("frozen", f"{what}: all are frozen")
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
    )


def _place(module: torch.nn.Module) -> str:
    """Return where a module's `forward` is written, in parentheses ("": not known)."""
    code = getattr(type(module).forward, "__code__", None)
    return "" if code is None else f" ({code.co_filename}:{code.co_firstlineno})"
