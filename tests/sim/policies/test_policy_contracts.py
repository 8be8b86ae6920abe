"""Every registered round policy goes through the contract, which catches faulty ones."""

import math
from itertools import count
from typing import ClassVar

import pytest

from simfl.sim.policies.base import RoundPolicy, policies
from simfl.testing.contract import suites
from simfl.testing.policies import PolicyContract

globals().update(suites(PolicyContract, policies))


class Patient(RoundPolicy):
    """Waits for everybody; each subclass does one thing wrong."""

    def run(self, server):
        while not server.finished:
            yield from server.until_quorum(server.settings.clients)
            if server.finished:
                return
            server.open_round()
            chosen = yield from server.select(server.settings.clients)
            parts = self.send(server, chosen)
            yield server.closing(parts, math.inf)
            yield server.call_off(parts)
            yield from server.aggregate(self.kept([part for part in parts if part.arrived]), chosen)

    def send(self, server, chosen):
        return server.send_all(chosen)

    def kept(self, arrived):
        return arrived


class ThrowsAway(Patient):
    def kept(self, arrived):
        return []


class RemembersOtherRuns(Patient):
    calls: ClassVar[count] = count()

    def send(self, server, chosen):
        return server.send_all(dict(list(chosen.items())[next(self.calls) > 3 :]))


class Unmoved(Patient):
    """Never starts a round of its own: it ends at once."""

    def run(self, server):
        server.open_round()
        yield from server.aggregate([])


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (ThrowsAway, "test_updates_are_used"),
        (RemembersOtherRuns, "test_same_seed_same_events"),
        (Unmoved, "test_so_many_rounds"),
    ],
)
def test_the_contract_catches(fault, test, caught) -> None:
    caught(PolicyContract, test, fault, sound=Patient)
