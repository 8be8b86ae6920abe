"""Rectified units of finished runs that are 0 for every training sample: they learn no more.

    python -m analysis.silent_units RUN_DIR... --data-dir DIR

A unit is an output of a ReLU layer, of a convolution's a whole channel.  Of the final models.
"""

import argparse
from pathlib import Path

import torch
from torch import nn

from simfl.build.builder import Builder
from simfl.coordinators.base import MODEL
from simfl.runs.folder.folder import SCENARIO
from simfl.scenario import Scenario
from simfl.training.executors.base import executors
from simfl.training.flat import build

BATCH = 500


def silent(module: nn.Module, x: torch.Tensor) -> dict[str, tuple[int, int]]:
    """Return of each ReLU layer how many of its units are 0 for all inputs, and how many it has.

    Args:
        module: the model.
        x: `(n, ...)` inputs.
    """
    seen: dict[str, torch.Tensor] = {}

    def watch(name: str, layer: nn.Module) -> None:
        def look(_layer: nn.Module, _inputs: object, outputs: torch.Tensor) -> None:
            positive = (outputs > 0).flatten(2).any(2) if outputs.dim() > 2 else outputs > 0
            before = seen.get(name, torch.zeros(positive.shape[1], dtype=torch.bool))
            seen[name] = before | positive.any(0)

        layer.register_forward_hook(look)

    for name, layer in module.named_modules():
        if isinstance(layer, nn.ReLU):
            watch(name, layer)
    module.eval()
    with torch.no_grad():
        for first in range(0, len(x), BATCH):
            module(x[first : first + BATCH].clone())
    return {name: (int((~some).sum()), len(some)) for name, some in seen.items()}


def main() -> None:
    """Print a line per run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--data-dir", type=Path, required=True)
    options = parser.parse_args()
    for folder in options.runs:
        scenario = Scenario.load(folder / SCENARIO)
        task = Builder(scenario, options.data_dir, False, executors.parse("inline")).task
        module = build(task.model, task.shape, task.classes)
        module.load_state_dict(torch.load(folder / MODEL, weights_only=True))
        counts = silent(module, torch.from_numpy(task.data.everybodys().x))
        told = ", ".join(f"{name}: {n} of {units}" for name, (n, units) in counts.items())
        print(f"{folder}: {told}")


if __name__ == "__main__":
    main()
