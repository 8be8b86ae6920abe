"""Runs that would never end, or never begin, as far as the drawn fleet tells."""

from collections.abc import Iterator

from simfl.components.selectors.base import Selector
from simfl.scenario.checks import Objection
from simfl.scenario.scenario import Scenario
from simfl.sim.server.server import Server

UNHURRIED = ("full", "partial_epochs", "coreset")
"""Workloads that ask for everything where no deadline is near; a policy's timeout is none."""


def endless(scenario: Scenario, server: Server) -> Iterator[Objection]:
    """Yield what a run of `scenario` would wait for in vain.

    Args:
        scenario: one variant.
        server: of that run, before its first round.
    """
    least = scenario.rounds.min_clients
    if least is not None and (ever := _ever_there(server, least)) < least:
        yield (
            ("rounds", "min_clients"),
            f"{least} clients to begin a round, but only {ever} with samples are ever available",
        )
    timeout = getattr(scenario.rounds.policy, "timeout", None)
    if timeout is None or scenario.rounds.stop.time is not None:
        return  # bytes are counted when a round ends, which none would
    if (fastest_s := _fastest_s(scenario, server)) > timeout * (1 + 1e-9):
        yield (
            ("rounds", "policy", "timeout"),
            f"no device is ever done within {timeout:g} s, the fastest takes {fastest_s:.4g} s; "
            "and `rounds.stop` names no time",
        )


def _ever_there(server: Server, enough: int) -> int:
    """Return how many can take part at the start or come back later; looks for no more than that.

    Args:
        server: whose clients.
        enough: any number from here on will do.
    """
    there = len(server.candidates.reachable(server.candidates.able))
    return there if there >= enough else there + len(server.candidates.returns_s())


def _fastest_s(scenario: Scenario, server: Server) -> float:
    """Return what no participation is faster than, seconds; 0 where that can't be known."""
    varies = scenario.network.reads_files or any(group.link_jitter for group in scenario.fleet)
    # A client that was probed has the model already, and need not download it.
    probes = type(scenario.selection).probe is not Selector.probe
    if varies or probes or scenario.training.workload.name not in UNHURRIED:
        return 0.0
    return float(server.nominal_round_s().min())
