"""Runs that would never end, or never begin, as far as the drawn fleet tells."""

from collections.abc import Iterator

from simfl.components.selectors.base import Selector
from simfl.core.registry import overrides
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
    yield from _quorums(scenario, server)
    yield from _limits(scenario, server)
    yield from _sessions(scenario, server)


def _quorums(scenario: Scenario, server: Server) -> Iterator[Objection]:
    """Yield the number of clients that are never there at once."""
    least = scenario.rounds.min_clients
    if least is not None and (ever := _ever_there(server, least)) < least:
        yield (
            ("rounds", "min_clients"),
            f"{least} clients to begin a round, but only {ever} with samples are ever available",
        )


def _limits(scenario: Scenario, server: Server) -> Iterator[Objection]:
    """Yield the option by which everybody is called off."""
    call_off = scenario.rounds.policy.call_off
    if call_off is None or _ends_by(scenario, call_off.ends):
        return
    option, limit_s, ends = call_off
    if (fastest_s := _fastest_s(scenario, server, option)) > limit_s * (1 + 1e-9):
        yield (
            ("rounds", "policy", option),
            f"no device is ever done within {limit_s:g} s, the fastest takes {fastest_s:.4g} s; "
            f"and `rounds.stop` names no {' or '.join(ends)}",
        )


def _sessions(scenario: Scenario, server: Server) -> Iterator[Objection]:
    """Yield the fleet, if everybody leaves before anything is done, and does it again and again."""
    # Rounds that nothing arrives in count, where there are any.
    waits = scenario.rounds.policy.awaits_updates
    ends = ("time",) if waits else ("rounds", "time", "bytes")
    if _ends_by(scenario, ends) or not all(group.on_offline == "abort" for group in scenario.fleet):
        return
    folder = scenario.root
    longest_s = max(group.availability.longest_session_s(folder) for group in scenario.fleet)
    if (fastest_s := _fastest_s(scenario, server, "deadline")) > longest_s * (1 + 1e-9):
        yield (
            ("fleet",),
            f"no device is online for longer than {longest_s:g} s, the fastest takes "
            f"{fastest_s:.4g} s, and leaving aborts its work; and `rounds.stop` names no "
            f"{' or '.join(ends)}",
        )


def _ends_by(scenario: Scenario, ends: tuple[str, ...]) -> bool:
    return any(getattr(scenario.rounds.stop, rule) is not None for rule in ends)


def _ever_there(server: Server, enough: int) -> int:
    """Return how many can take part at the start or come back later; looks for no more than that.

    Args:
        server: whose clients.
        enough: any number from here on will do.
    """
    reachable = len(server.candidates.reachable(server.candidates.able))
    return reachable if reachable >= enough else reachable + len(server.candidates.returns_s())


def _fastest_s(scenario: Scenario, server: Server, option: str) -> float:
    """Return what no participation is faster than, seconds; 0 where that can't be known.

    Args:
        scenario: one variant.
        server: of its run.
        option: which limits participations; they are planned for a deadline.
    """
    whole = UNHURRIED if option == "timeout" else UNHURRIED[:1]
    varies = scenario.network.reads_files or any(
        group.link_jitter or group.compute_jitter for group in scenario.fleet
    )
    # A client that was probed has the model already, and need not download it.
    probes = overrides(scenario.selection, Selector.probe)
    if varies or probes or scenario.training.workload.name not in whole:
        return 0.0
    return float(server.nominal_round_s().min())
