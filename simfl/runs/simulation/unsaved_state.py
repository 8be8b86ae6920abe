"""State of users' components of a kind whose state no checkpoint has: it is lost."""

import logging
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from simfl.components.attacks.base import Attack
from simfl.components.coresets.base import Coreset
from simfl.components.losses.base import Loss
from simfl.components.metrics.base import QualityMetric
from simfl.components.optimizers.base import Optimizer
from simfl.components.schedules.base import Schedule
from simfl.core.component import Component
from simfl.core.ownership import names, users_own

_LOG = logging.getLogger(__name__)
_STATELESS = (Attack, Coreset, Loss, Optimizer, QualityMetric, Schedule)
"""Kinds that a replay does not ask again, and that workers ask too, now this one, now that."""


@contextmanager
def telling_of_unsaved_state(components: Sequence[Component]) -> Iterator[None]:
    """Warn, once the body is done or has failed, if one of users' `components` remembers something.

    It is seen in this process alone.
    """
    own = [part for part in users_own(components) if isinstance(part, _STATELESS)]
    before = [_state(part) for part in own]
    try:
        yield
    finally:
        for part, then in zip(own, before, strict=True):
            now = _state(part)
            if changed := [name for name in now if now[name] != then.get(name)]:
                _tell(names([part]), ", ".join(changed))


@cache  # once for all runs of this process
def _tell(who: str, attributes: str) -> None:
    _LOG.warning(
        "%s: what it remembers (%s) changed during the run. Only selectors, aggregators, "
        "compressors and filters may: of others no checkpoint has it, and the next run in this "
        "process goes on with it, so the run may not come out the same again, nor when it is "
        "resumed",
        who,
        attributes,
    )


def _state(component: Component) -> dict[str, object]:
    """Return what the private attributes of a component hold, as something to be compared."""
    state: dict[str, object] = {}
    for name, value in (component.__pydantic_private__ or {}).items():
        try:
            state[name] = pickle.dumps(value)
        except Exception:  # there is no telling
            state[name] = None
    return state
