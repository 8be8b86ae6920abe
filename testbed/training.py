"""What clients compute: plain PyTorch."""

from dataclasses import dataclass

import torch

from simfl.build.builder import Builder
from simfl.training import flat
from testbed.messages import Floats


@dataclass(frozen=True)
class Training:
    """A client's local training; batches are shuffled every epoch.

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
        flat.load(self.module, model.copy())
        optimizer = torch.optim.SGD(self.module.parameters(), lr=self.lr)
        draws, batches = torch.Generator().manual_seed(seed), list[torch.Tensor]()
        for _ in range(self.steps):
            batches = batches or list(torch.randperm(len(self.y), generator=draws).split(self.size))
            rows = batches.pop(0)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(self.module(self.x[rows]), self.y[rows])
            loss.backward()
            optimizer.step()
        return flat.flatten(self.module) - model


def training(builder: Builder, number: int) -> Training:
    """Return what client `number` of `builder`'s scenario computes."""
    scenario = builder.scenario
    module = flat.build(scenario.model, *scenario.data.dataset.shape())
    cohort = builder.federation.training([number])
    x, y = cohort.x[cohort.rows[0]], cohort.y[cohort.rows[0]]
    local = scenario.training
    steps = local.steps or (local.epochs or 1) * -(-len(y) // local.batch_size)
    return Training(module, x, y, steps, local.batch_size, local.optimizer.lr)
