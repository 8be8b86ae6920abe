"""What the expected round of a fleet has in it, and what it leaves out, by keys of the scenario."""

import math

from simfl.scenario.scenario import Scenario
from simfl.sim.networks.shared import Shared
from simfl.sim.policies.fedasync import FedAsync
from simfl.sim.policies.fedbuff import FedBuff
from simfl.sim.policies.hierarchical import Hierarchical
from simfl.sim.policies.synchronous import Synchronous


def included(scenario: Scenario) -> list[str]:
    """Return what takes time in a round besides training and sending models."""
    server_s, parts = (
        scenario.rounds.policy.server_time,
        (("selector", scenario.selection), ("aggregator", scenario.aggregation)),
    )
    asks = [f"what {kind} {p.name!r} asks of participants" for kind, p in parts if p.wants]
    policy = scenario.rounds.policy
    if type(policy) is Hierarchical and max(policy.backhaul_s(way, 1) for way in ("down", "up")):
        asks.append("the backhaul")
    return [*asks, "the server's time"] if server_s and not policy.awaits_updates else asks


def left_out(scenario: Scenario, limit_s: float, *, surplus: bool) -> list[str]:
    """Return what of a scenario makes rounds other than they are expected to be.

    Args:
        scenario: one variant.
        limit_s: when a round closes at the latest (inf: there is no limit).
        surplus: whether more are asked than are waited for.
    """
    keys = [
        f"fleet.{name}"
        for name in ("compute_jitter", "link_jitter")
        if any(getattr(group, name) is not None for group in scenario.fleet)
    ]
    if any(group.failures for group in scenario.fleet):
        keys.append("fleet.failures")
    network, policy, timed = scenario.network, scenario.rounds.policy, math.isfinite(limit_s)
    of_network = ("polling", "rates", "queue_limit")  # which a network of one's own may lack
    keys += [f"network.{name}" for name in of_network if getattr(network, name, None)]
    cells = network.cells.items() if isinstance(network, Shared) else ()
    keys += [f"network.cells.{name}.rates" for name, cell in cells if cell.rates]
    if isinstance(policy, FedBuff | FedAsync):  # others go on meanwhile
        options = {"server_time": policy.server_time, "max_staleness": policy.max_staleness}
        keys += [f"rounds.policy.{key}" for key, value in options.items() if value]
    if policy.has_edges and type(policy) is not Hierarchical:
        keys.append("rounds.policy.edges")
    if isinstance(policy, Synchronous) and policy.may_be_stale and (timed or surplus):
        keys.append("rounds.policy.late")  # whose updates come early in later rounds
    if not scenario.training.workload.asks_all(timed=timed):
        keys.append("training.workload")
    if scenario.training.filter.stage == "client":  # then not all is sent
        keys.append("training.filter")
    return keys
