"""What a real server does of a scenario: its rules; and what it would not do is refused."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from simfl.build.builder import Builder
from simfl.components.aggregators import fedavg, fedbuff
from simfl.components.optimizers.sgd import Sgd
from simfl.scenario import Scenario
from simfl.sim.policies.fedbuff import FedBuff
from simfl.sim.policies.synchronous import Synchronous
from testbed.commands import Refused
from testbed.messages import Facts


@dataclass(frozen=True)
class Rules:
    """How rounds are run: synchronous, or `buffered` as FedBuff's.

    Attributes:
        rounds: how many.
        asked: clients that are waited for before the first.
        quorum: clients that are waited for before each.
        enough: updates, with which a round ends.
        deadline_s: from its begin, when it ends anyway.
        buffered: whether updates count whenever they come, and who has sent one trains on at once.
    """

    rounds: int
    asked: int
    quorum: int
    enough: int
    deadline_s: float = math.inf
    buffered: bool = False

    def over(self, arrived: int, awaited: int) -> bool:
        """Return whether a round ends with so many updates, where so many others are awaited."""
        return arrived >= self.enough or not (awaited or self.buffered)

    def weights(self, updates: Sequence[Facts], version: int) -> list[float]:
        """Return what each update to a model of `version` weighs: as FedAvg's, or as FedBuff's."""
        if self.buffered:
            ages = [version - update["version"] for update in updates]
            return [(1 + age) ** -0.5 / len(updates) for age in ages]
        total = sum(update["samples"] for update in updates)
        return [update["samples"] / total for update in updates]


def rules(builder: Builder) -> Rules:
    """Return what the server of `builder`'s scenario does.

    Raises:
        Refused: the real server can't do that.
    """
    rounds, devices = builder.scenario.rounds, builder.scenario.devices
    policy, wanted = rounds.policy, rounds.clients
    _plain(builder.scenario)
    if isinstance(policy, FedBuff):
        asked = policy.concurrency or wanted
        told = Rules(rounds.stop.rounds or 0, asked, 0, policy.buffer, buffered=True)
    elif isinstance(policy, Synchronous) and policy.late == "drop":
        asked = policy.asked(wanted)
        limit = math.inf if policy.deadline is None else policy.deadline
        if not isinstance(limit, float):
            raise Refused("the testbed's deadlines are durations")
        told = Rules(rounds.stop.rounds or 0, asked, rounds.min_clients or asked, wanted, limit)
    else:
        raise Refused(f"the testbed knows no policy {policy.name!r} such as this")
    if asked != devices or not told.rounds:
        raise Refused("the testbed asks every client, for a number of rounds")
    return told


def _plain(scenario: Scenario) -> None:
    """Refuse what real clients and servers would not do as the scenario says."""
    local = scenario.training
    buffered = isinstance(scenario.rounds.policy, FedBuff)
    plain = fedbuff.FedBuff() if buffered else fedavg.FedAvg()
    same = {
        "aggregation": scenario.aggregation == plain,
        "training.optimizer": local.optimizer == Sgd(lr=local.optimizer.lr),
        "training.lr_schedule": local.lr_schedule.name == "constant",
        "training.proximal": local.proximal == 0,
        "training.filter": local.filter.name == "none",
        "training.compression": local.compression.name == "none",
    }
    if others := [option for option, is_so in same.items() if not is_so]:
        raise Refused(f"the testbed trains plainly; take out {', '.join(others)}")
