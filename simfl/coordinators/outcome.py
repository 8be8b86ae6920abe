"""What a selector is told of a round that has ended."""

from collections.abc import Sequence

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.components.selectors.base import RoundOutcome, Selector
from simfl.core.blame import blaming
from simfl.sim.coordinator import RoundUpdates


def tell_outcome(
    selector: Selector,
    updates: RoundUpdates,
    contributions: Sequence[Contribution],
    layers: tuple[int, ...],
) -> None:
    """Tell `selector` what the server knows once a round's updates are aggregated.

    Args:
        selector: says what it wants to know.
        updates: who was asked, and when what came.
        contributions: what counted.
        layers: sizes of the model's tensors.

    Raises:
        ComponentError: learning from it fails in a user's code.
    """
    # Of a client with several updates (it came back before the buffer was full) the last one.
    last = {contribution.result.order.client: contribution for contribution in contributions}
    contributions = [last[client] for client in sorted(last)]
    results = [contribution.result for contribution in contributions]
    took_s = {arrival.order.key: arrival.duration_s for arrival in updates.arrivals}
    changes = None
    if selector.needs_updates:
        changes = np.stack([c.update.astype(np.float32) for c in contributions])
    outcome = RoundOutcome(
        round=updates.round,
        selected=np.array(updates.selected, dtype=np.int64),
        arrived=np.array([r.order.client for r in results], dtype=np.int64),
        losses=np.array([r.loss for r in results]),
        durations_s=np.array([took_s[r.order.key] for r in results]),
        updates=changes,
        extras={name: np.stack([r.extras[name] for r in results]) for name in selector.wants},
        layers=layers,
    )
    with blaming(selector, f"learning from round {updates.round}"):
        selector.observe(outcome)
