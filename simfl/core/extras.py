"""Packages that simfl can do without: imported when they are asked for."""

import importlib
from typing import Any

from simfl.errors import InputError


def extra(module: str, name: str, what: str) -> Any:
    """Return a module of an optional package.

    Args:
        module: its name.
        name: of simfl's extra that brings it.
        what: needs it.

    Raises:
        InputError: it is not installed; says how to.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"{what} needs `pip install 'simfl[{name}]'` ({error})") from None
