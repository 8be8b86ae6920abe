"""torchvision's models, beside any build of PyTorch.

torchvision's wheel carries compiled operators for one build of PyTorch.  Beside another one (a
CPU-only PyTorch, say) they can't be loaded, and ``import torchvision`` fails because it describes
operators that do not exist.  Nothing here needs those operators, so only when the plain import
fails their signatures are declared and the import is tried again.
"""

import sys
import warnings
from importlib import import_module
from typing import Any

import torch

_DECLARED: list[Any] = []
"""Keeps the declaring library alive: its operators vanish with it."""


def torchvisions(name: str) -> Any:
    """Return a module of torchvision, such as `models.resnet`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchvision warns of codecs that nothing here uses
        try:
            return import_module(f"torchvision.{name}")
        except RuntimeError:
            _declare_operators()
            return import_module(f"torchvision.{name}")


def _declare_operators() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # what the failed import left half done
    library: Any = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _DECLARED.append(library)
