"""What becomes of updates on their way to the server: attacks, compression, filters."""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simfl.components.aggregators.base import Contribution
from simfl.components.attacks.base import Attack
from simfl.components.compressors.base import Compressor
from simfl.components.filters.base import UpdateFilter
from simfl.core.blame import blaming
from simfl.core.component import overrides
from simfl.core.readonly import read_only
from simfl.core.returned import check_places, check_vector, expect
from simfl.core.seeds import generator
from simfl.core.types import Params
from simfl.core.work import Purpose, WorkOrder, WorkResult

Attackers = Sequence[tuple[range, Attack]]
"""Which clients attack, and how."""


class UpdatePath:
    """What becomes of updates on their way up.

    Attributes:
        compressor: how they are compressed.
        filter: which of them count.
        forgers: which clients upload something else instead, and what.
        owed: per client `(p,)` what compression lost so far, with error feedback.
        changes: by version of the model `(p,)` what was changed last up to it (0 has none).
    """

    def __init__(
        self, compressor: Compressor, update_filter: UpdateFilter, attackers: Attackers = ()
    ) -> None:
        self.compressor = compressor
        self.filter = update_filter
        self.forgers = [
            (clients, attack)
            for clients, attack in attackers
            if overrides(attack, Attack.forge) or overrides(attack, Attack.agree)
        ]
        self.owed: dict[int, Params] = {}
        self.changes: dict[int, Params] = {}

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a checkpoint must keep."""
        return {
            "owed": dict(self.owed),
            "changes": dict(self.changes),
            "compressor": self.compressor.state_dict(),
            "filter": self.filter.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self.owed, self.changes = dict(state["owed"]), dict(state["changes"])
        self.compressor.load_state_dict(state["compressor"])
        self.filter.load_state_dict(state["filter"])

    def go_on_from(self, before: "UpdatePath", same: Container[str]) -> None:
        """Take the place of the path `before`, and remember what still holds.

        Args:
            before: of the same models and clients.
            same: which rules (`compression`, `filter` and others) are as before.
        """
        if "compression" in same:
            self.owed = before.owed
            self.compressor.load_state_dict(before.compressor.state_dict())
        if "filter" in same:
            self.filter.load_state_dict(before.filter.state_dict())
        self.changes = before.changes

    @property
    def lossless(self) -> bool:
        """Whether every update arrives bit for bit as it was computed."""
        return self.compressor.lossless and not self.forgers

    def keeps(self, update: Params, order: WorkOrder) -> bool:
        """Return whether a client sends its `update` `(p,)`, as its filter has it.

        It knows the model that it was sent, and nothing of those made since.  Who forges does not
        ask.
        """
        if any(_attacks(attack, clients, order) for clients, attack in self.forgers):
            return True
        with blaming(self.filter, f"judging the update of client {order.client}"):
            kept = self.filter.keep(update, self.changes.get(order.base), order.round)
            expect(isinstance(kept, bool | np.bool_), "True or False", kept)
        return bool(kept)

    def received(self, results: Sequence[WorkResult], bases: Sequence[Params]) -> list[WorkResult]:
        """Return `results` that come together as the server receives them.

        Forged ones need not be finite.

        Args:
            results: of honest training.
            bases: the model `(p,)` that each began at.
        """
        told = list(results)
        for clients, attack in self.forgers:
            orders_of = enumerate(result.order for result in results)
            own = [i for i, order in orders_of if _attacks(attack, clients, order)]
            own.sort(key=lambda i: results[i].order.key)
            honest = [results[i].params - bases[i] for i in own]
            orders = [results[i].order for i in own]
            with np.errstate(over="ignore", invalid="ignore"):  # the server discards those
                forged = _forged(attack, honest, orders, len(results))
                for i, update in zip(own, forged, strict=True):
                    told[i] = replace(results[i], params=bases[i] + update)
        return [self._decompressed(*each) for each in zip(told, bases, strict=True)]

    def _decompressed(self, result: WorkResult, base: Params) -> WorkResult:
        """Return `result`, which began at the model `base` `(p,)`, as the server decodes it."""
        if self.compressor.lossless or not np.isfinite(result.params).all():
            return result
        order, update = result.order, result.params - base
        if order.for_probe:  # what its code loses is not made up for by an update that counts
            received = self._decoded(order.client, update, order.seed)
        else:
            received = self.send(order.client, update, order.seed)
        return replace(result, params=base + received)

    def send(self, client: int, update: Params, seed: int) -> Params:
        """Return `(p,)` what the server receives of `update`, drawn from its order's `seed`."""
        if self.compressor.error_feedback:
            update = update + self.owed.get(client, np.float32(0))
        received = self._decoded(client, update, seed)
        if self.compressor.error_feedback:
            self.owed[client] = update - received
        return received

    def _decoded(self, client: int, update: Params, seed: int) -> Params:
        with blaming(self.compressor, f"compressing the update of client {client}"):
            shown = read_only(update)  # what is lost is told by a comparison with it
            rng = generator(seed, Purpose.COMPRESSION)
            return check_vector(self.compressor.compress(shown, rng), update)

    def let_through(
        self, contributions: list[Contribution], round_: int, version: int
    ) -> list[Contribution]:
        """Return those that the server's filter keeps while this `version` is the present one."""
        if self.filter.stage != "server":
            return contributions
        updates = [contribution.update for contribution in contributions]
        with blaming(self.filter, f"judging updates in round {round_}"):
            chosen = self.filter.choose(updates, self.changes.get(version), round_)
            kept = check_places(chosen, len(updates), ordered=True)
        return [contributions[index] for index in kept]

    def moved(self, before: int, change: Params | None) -> None:
        """Note by what `(p,)` the version after `before` differs from it (None: by nothing)."""
        change = self.changes.get(before) if change is None else change
        if change is not None:
            self.changes[before + 1] = change

    def forget(self, needed: Collection[int]) -> None:
        """Forget the changes up to versions that are not `needed`; the last one always is."""
        needed = needed if self.filter.stage == "client" else {max(needed)}
        self.changes = {v: change for v, change in self.changes.items() if v in needed}


def _attacks(attack: Attack, clients: range, order: WorkOrder) -> bool:
    """Return whether one of `clients`, which are to attack, does so with this order."""
    return order.client in clients and order.round >= attack.from_round


def _forged(
    attack: Attack, updates: Sequence[Params], orders: Sequence[WorkOrder], clients: int
) -> Iterator[Params]:
    """Yield what is uploaded instead of each of `updates` `(p,)`, of so many that come together."""
    if updates and overrides(attack, Attack.agree):
        with blaming(attack, f"agreeing on an update of {len(updates)} clients"):
            agreed = attack.agree(read_only(np.stack(updates)), clients)
            common = check_vector(agreed, updates[0], finite=False)
        yield from [common] * len(updates)
        return
    for update, order in zip(updates, orders, strict=True):
        with blaming(attack, f"forging the update of client {order.client}"):
            forged = attack.forge(read_only(update), generator(order.seed, Purpose.FORGING))
            forged = check_vector(forged, update, finite=False)
        yield forged
