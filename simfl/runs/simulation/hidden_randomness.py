"""Randomness that no seed decides: what users' components draw from libraries' global states."""

import logging
import random  # noqa: TID251  # it is looked at, not drawn from
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from simfl.core.component import Component
from simfl.core.ownership import names, users_own

_LOG = logging.getLogger(__name__)


@contextmanager
def telling_of_hidden_randomness(components: Sequence[Component]) -> Iterator[None]:
    """Warn, once the body is done, if one of users' `components` has probably drawn from such.

    It is seen in this process alone, and costs two looks at each generator.
    """
    own = users_own(components)
    before = _states() if own else {}
    yield
    after = _states() if own else {}
    if moved := [library for library, state in before.items() if after[library] != state]:
        _tell(names(own), " and ".join(moved))


@cache  # once for all runs of this process
def _tell(who: str, libraries: str) -> None:
    _LOG.warning(
        "%s: the global random state of %s changed during the run. No seed of a scenario decides "
        "it, so the run may not come out the same again, nor when it is resumed; components draw "
        "from the generator that they are given",
        who,
        libraries,
    )


def _states() -> dict[str, object]:
    """Return the state of each library's own generator, by the library's name."""
    state: Any = np.random.get_state()  # noqa: NPY002
    kind, keys, *place = state
    states: dict[str, object] = {
        "numpy.random": (kind, keys.tobytes(), *place),
        "random": random.getstate(),
    }
    if (torch := sys.modules.get("torch")) is not None:  # who only simulates time does without
        states["torch"] = torch.get_rng_state().numpy().tobytes()
    return states
