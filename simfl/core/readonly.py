"""Arrays to be looked at: what users' components are given is often somebody else's, too."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

_Array = TypeVar("_Array", bound=NDArray[np.generic])


def read_only(array: _Array) -> _Array:
    """Return `array` for others to look at, not to be changed."""
    view = array.view()
    view.flags.writeable = False
    return view
