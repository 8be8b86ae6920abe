"""What a selector is told of a round that has ended."""

from collections.abc import Mapping, Sequence

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.components.selectors.base import RoundOutcome, Selector
from simfl.core.types import OrderKey
from simfl.sim.coordinator import Arrival


def outcome_of(
    round_: int,
    selected: Sequence[int],
    contributions: Sequence[Contribution],
    arrivals: Mapping[OrderKey, Arrival],
    selector: Selector,
    layers: tuple[int, ...],
) -> RoundOutcome:
    """Return what the server knows once a round's updates are aggregated.

    Args:
        round_: its number.
        selected: who was asked.
        contributions: what counted.
        arrivals: when it came, by `WorkOrder.key`.
        selector: who is to be told; says what it wants to know.
        layers: sizes of the model's tensors.
    """
    # Of a client with several updates (it came back before the buffer was full) the last one.
    last = {contribution.result.order.client: contribution for contribution in contributions}
    contributions = [last[client] for client in sorted(last)]
    results = [contribution.result for contribution in contributions]
    updates = None
    if selector.needs_updates:
        updates = np.stack([c.update.astype(np.float32) for c in contributions])
    return RoundOutcome(
        round=round_,
        selected=np.array(sorted(set(selected)), dtype=np.int64),
        arrived=np.array([r.order.client for r in results], dtype=np.int64),
        losses=np.array([r.loss for r in results]),
        durations_s=np.array([arrivals[r.order.key].duration_s for r in results]),
        updates=updates,
        extras={name: np.stack([r.extras[name] for r in results]) for name in selector.wants},
        layers=layers,
    )
