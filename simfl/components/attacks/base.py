"""The seam of attacks: what the devices of a group do against the model that they are to improve.

An attack overrides one or more of these; who attacks takes as long, and sends as much, as others.
What was asked of a device before round `from_round` is done honestly.

- `relabel`: once, before the first round: what its devices train on instead.  The losses and
  gradients that they tell are of these, but for losses on what they keep aside
  (`data.local_validation`), which is as it was.  Label counts (GEMD, an oracle's) are of the right
  ones.
- `forge`: each time: what a device uploads instead of its update.
- `agree`: each time: what those of its devices upload whose updates are aggregated together.  They
  know each other's honest updates, and nobody else's.

What is forged is compressed, filtered by the server and aggregated like any other update, or, if
it is not finite, discarded; a filter on the client is not asked.  Its device's loss is that of
honest training, and so is a gradient that a selector asks for.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from simfl.core.circumstances import Circumstances
from simfl.core.component import Component, overrides
from simfl.core.registry import Registry
from simfl.core.types import Ids, Rng

Update = NDArray[np.float32]
"""`(p,)` a client's model minus the model it received."""


class Attack(Component):
    """What is wrong with the devices of a group."""

    from_round: int = Field(
        1,
        ge=1,
        description="round that its devices attack from; until then they are as others are (where "
        "updates are aggregated as they come: of work begun at the model of so many aggregations)",
    )

    @override
    def objections(self, circumstances: Circumstances) -> Iterator[str]:
        ways = (Attack.relabel, Attack.forge, Attack.agree)
        if not any(overrides(self, way) for way in ways):
            names = ", ".join(f"`{way.__name__}`" for way in ways)
            yield f"attack {self.name!r} does nothing: its class has none of the methods {names}"

    def relabel(self, labels: Ids, classes: int, rng: Rng) -> Ids:
        """Return `(n,)` what a device takes for the classes of its training samples.

        Args:
            labels: `(n,)` the right ones, from 0 to ``classes - 1``.
            classes: their number.
            rng: the device's own stream.
        """
        return labels

    def forge(self, update: Update, rng: Rng) -> Update:
        """Return `(p,)` what a device uploads instead of its `update` `(p,)`.

        Args:
            update: what training came to.
            rng: the participation's own stream.
        """
        return update

    def agree(self, updates: NDArray[np.float32], clients: int) -> Update:
        """Return `(p,)` what all devices of the group upload whose `updates` come together.

        Asked only of a class that overrides it, and then instead of `forge`.

        Args:
            updates: `(a, p)` what training came to, by ascending id; where no round is waited for,
                a device may have several.
            clients: how many updates come together, those of others too.
        """
        raise NotImplementedError


attacks: Registry[Attack] = Registry("attack", "simfl.components.attacks")
