"""What clients compute: plain PyTorch, and nothing that takes long to import."""

from dataclasses import dataclass

import torch
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from testbed.messages import Floats


@dataclass(frozen=True)
class Training:
    """A client's local training: SGD, with batches that are shuffled every epoch.

    Attributes:
        module: the model.
        x, y: the client's samples.
        steps: of SGD.
        size: of a batch.
        lr: learning rate.
    """

    module: torch.nn.Module
    x: torch.Tensor
    y: torch.Tensor
    steps: int
    size: int
    lr: float

    def __call__(self, model: Floats, seed: int) -> Floats:
        """Return what training changes of `model`, with the batches of `seed`."""
        parameters = list(self.module.parameters())
        vector_to_parameters(torch.from_numpy(model.copy()), parameters)
        draws, batches = torch.Generator().manual_seed(seed), list[torch.Tensor]()
        for _ in range(self.steps):
            batches = batches or list(torch.randperm(len(self.y), generator=draws).split(self.size))
            rows = batches.pop(0)
            loss = torch.nn.functional.cross_entropy(self.module(self.x[rows]), self.y[rows])
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():  # torch.optim would import PyTorch's compiler, for seconds
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.sub_(self.lr * gradient)
        return parameters_to_vector(parameters).detach().numpy() - model
