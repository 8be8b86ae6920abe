"""What is built once per task: the module, its layout and its kernel."""

from functools import cached_property

import torch
from torch import nn

from simfl.core.types import Params
from simfl.training import gpu
from simfl.training.batch_norm import has_batch_norm
from simfl.training.compilable import is_compilable
from simfl.training.flat import Layout, copied
from simfl.training.kernels import Kernel, choose_kernel
from simfl.training.kernels.compiled import compiled_kernel
from simfl.training.kernels.loop import is_channels_last
from simfl.training.kernels.stages import is_sequence, leaves, stages_of
from simfl.training.task import Task, module_of
from simfl.training.tokens import example_input

MODELS, TENSORS = 2, 4
"""Global models, and tensors of samples, that a GPU keeps."""
PROGRAMS = 8
"""Programs that are kept."""


class Program:
    """A model made ready to train on a device.

    Args:
        task: whose model, shape, classes and device are taken.
    """

    def __init__(self, task: Task) -> None:
        self.device = torch.device(task.device)
        if self.device.type == "cuda":
            gpu.use_exact_algorithms()
        self._task = task.without_data()
        self.module = self._module()
        self.channels_last = is_channels_last(self.module, self.device)
        if self.channels_last:
            self.module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.layout = Layout.of(self.module)
        self.convex = is_convex(self.module)
        self.batch_norm = has_batch_norm(self.module)
        self.stacked = stages_of(self.module, task.shape) is not None
        """Whether it is a stack of linear layers."""
        self.compiled = compiled_kernel(self.module, task.shape)
        """What computes outputs, where the compiled kernel understands the model."""
        # By the ids of what was copied, which is kept beside its copy: no other has its id then.
        self._resident: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._models: dict[int, tuple[Params, torch.Tensor]] = {}

    @cached_property
    def kernel(self) -> Kernel:
        """The kernel that trains it, with a module of its own."""
        task = self._task
        return choose_kernel(self._module(), task.shape, task.training)

    @cached_property
    def example(self) -> torch.Tensor:
        """An input, of zeros."""
        return example_input(self.module, self._task.shape).to(self.device)

    def to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return `tensor` where the model is; the copy of the last few tensors is kept."""
        if tensor.device.type == self.device.type:
            return tensor
        known = self._resident.get(id(tensor))
        if known is None:
            while len(self._resident) >= TENSORS:
                del self._resident[next(iter(self._resident))]
            known = self._resident[id(tensor)] = (tensor, tensor.to(self.device))
        return known[1]

    def model_to_device(self, params: Params) -> torch.Tensor:
        """Return the global model `params` `(p,)` where modules are: nobody may change it there.

        A GPU keeps the last few.
        """
        if self.device.type == "cpu":
            return copied(params)
        known = self._models.get(id(params))
        return self._kept(params, copied(params).to(self.device)) if known is None else known[1]

    def model_from_device(self, model: torch.Tensor) -> Params:
        """Return `model` `(p,)` as the server has it; `model_to_device` knows it again."""
        pinned = self.device.type == "cuda"  # ten times as fast
        host = torch.empty(model.shape, dtype=model.dtype, pin_memory=pinned)
        params: Params = host.copy_(model).numpy()
        self._kept(params, model)
        return params

    def _kept(self, params: Params, model: torch.Tensor) -> torch.Tensor:
        while len(self._models) >= MODELS:
            del self._models[next(iter(self._models))]
        self._models[id(params)] = params, model
        return model

    def _module(self) -> nn.Module:
        module = module_of(self._task)
        if is_sequence(module) and leaves(module):  # none: something looks on
            hasten(module)
        return module.to(self.device)


def hasten(layers: nn.Sequential) -> None:
    """Rearrange `layers`, and sequences among them, so that they compute the same bits sooner.

    The maximum of rectified numbers is the rectified maximum, and so are the gradients: pooling
    first leaves a quarter of the numbers to rectify.  A rectifier may work in place after a layer
    whose gradient does not need its output, since within a `Sequential` nobody else sees it.
    (A sequence inside another module may be sliced by it, or have its layers called singly.)
    """
    for layer in layers:
        if is_sequence(layer):
            hasten(layer)
    for i in range(len(layers) - 1):
        if type(layers[i]) is nn.ReLU and type(layers[i + 1]) is nn.MaxPool2d:
            layers[i], layers[i + 1] = layers[i + 1], layers[i]
    for i in range(1, len(layers)):
        before = type(layers[i - 1])
        if type(layers[i]) is nn.ReLU and before in (nn.Conv2d, nn.Linear, nn.MaxPool2d):
            layers[i] = nn.ReLU(inplace=True)


def is_convex(module: nn.Module) -> bool:
    """Return whether `module` has no hidden layer: logistic regression."""
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    weights = [parameter for parameter in module.parameters() if parameter.dim() > 1]
    return len(linear) == len(weights) == 1


_PROGRAMS: dict[object, Program] = {}


def program_of(task: Task) -> Program:
    """Return the program of `task`, built at first use; tasks of like model share it."""
    training = task.training  # what of it decides the kernel:
    how = (
        is_compilable(training),
        training.augmentation is not None,
        training.optimizer.repeats,
        training.personal_epochs is None,
    )
    key = (*task.model_key, task.shape, task.classes, task.device, how)
    if key not in _PROGRAMS:
        while len(_PROGRAMS) >= PROGRAMS:
            del _PROGRAMS[next(iter(_PROGRAMS))]
        _PROGRAMS[key] = Program(task)
    return _PROGRAMS[key]
