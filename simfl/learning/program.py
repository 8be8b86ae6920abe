"""What is built once per task: the module, its layout and its kernel."""

from functools import cached_property

import torch
from torch import nn

from simfl.learning.flat import Layout, build
from simfl.learning.kernels import Kernel, choose_kernel
from simfl.learning.kernels.linear import stages_of
from simfl.learning.task import Task


class Program:
    """A model made ready to train on a device.

    Args:
        task: whose model, shape, classes and device are taken.
    """

    def __init__(self, task: Task) -> None:
        self.device = torch.device(task.device)
        self._task = task
        self.module = self._module()
        self.layout = Layout.of(self.module)
        self.convex = is_convex(self.module)
        self.stacked = stages_of(self.module, task.shape) is not None
        """Whether it is a stack of linear layers."""
        self._resident: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel that trains it, with a module of its own."""
        return choose_kernel(self._module(), self._task.shape, self._task.classes)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return `tensor` where the model is; the copy of the last few tensors is kept."""
        if tensor.device.type == self.device.type:
            return tensor
        known = self._resident.get(id(tensor))
        if known is None or known[0] is not tensor:
            while len(self._resident) >= 4:
                del self._resident[next(iter(self._resident))]
            known = self._resident[id(tensor)] = (tensor, tensor.to(self.device))
        return known[1]

    def _module(self) -> nn.Module:
        return build(self._task.model, self._task.shape, self._task.classes).to(self.device)


def is_convex(module: nn.Module) -> bool:
    """Return whether `module` has no hidden layer: logistic regression."""
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    weights = [parameter for parameter in module.parameters() if parameter.dim() > 1]
    return len(linear) == len(weights) == 1


_PROGRAMS: dict[object, Program] = {}


def program_of(task: Task) -> Program:
    """Return the program of `task`, built at first use; tasks of like model share it."""
    key = (type(task.model), repr(task.model), task.shape, task.classes, task.device)
    if key not in _PROGRAMS:
        while len(_PROGRAMS) >= 8:
            del _PROGRAMS[next(iter(_PROGRAMS))]
        _PROGRAMS[key] = Program(task)
    return _PROGRAMS[key]
