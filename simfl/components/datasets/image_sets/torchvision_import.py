"""The one place that imports torchvision's data sets, beside any build of PyTorch.

torchvision's wheel carries compiled operators for one build of PyTorch.  Beside another one (a
CPU-only PyTorch, say) they can't be loaded, and ``import torchvision`` fails because it describes
operators that do not exist.  Nothing here needs those operators, so only when the plain import
fails their signatures are declared and the import is tried again.
"""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from simfl.errors import InputError

_DECLARED: list[Any] = []
"""Keeps the declaring library alive: its operators vanish with it."""


def torchvision_datasets() -> ModuleType:
    """Return the module `torchvision.datasets`.

    Raises:
        InputError: torchvision is not installed or can't be imported.
    """
    try:
        return _import()
    except ImportError as error:
        raise InputError(f"this data set needs torchvision, but {error}") from error
    except RuntimeError:
        return _import_without_operators()


def _import() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchvision warns of codecs that nothing here uses
        return import_module("torchvision.datasets")


def _import_without_operators() -> ModuleType:
    import torch

    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]  # what the failed import left half done
    library: Any = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _DECLARED.append(library)
    try:
        return _import()
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"torchvision can't be imported beside this PyTorch ({error}); "
            "install builds that belong together"
        ) from error
