"""Functions of the compiled library that know of no network; where it is not built, others do."""

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

_FOLDER = Path(__file__).parent / "kernels"
INT32, INT64, UINT64 = ctypes.c_int32, ctypes.c_int64, ctypes.c_uint64
POINTER = ctypes.c_void_p


def library_file() -> Path | None:
    """Return where the compiled library is; None: it is not built."""
    files = (_FOLDER / f"_native{suffix}" for suffix in EXTENSION_SUFFIXES)
    return next((file for file in files if file.exists()), None)


@cache
def native(name: str, *arguments: type) -> Callable[..., None] | None:
    """Return the library's function `name`, which takes `arguments` and returns nothing.

    None: the library is not built, or by an earlier version.
    """
    if (file := library_file()) is None:
        return None
    function = getattr(ctypes.CDLL(str(file)), name, None)
    if function is not None:
        function.argtypes, function.restype = arguments, None
    return function
