"""Runs that would never end, or never begin, as far as the drawn fleet tells."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from simfl.components.selectors.base import Selector
from simfl.core.component import overrides
from simfl.core.words import numbered
from simfl.scenario.incompatible_parts import Objection
from simfl.scenario.scenario import Scenario
from simfl.sim.fleet import Fleet
from simfl.sim.policies.base import RoundPolicy
from simfl.sim.server.server import Server


def endless(scenario: Scenario, fleet: Fleet, server: Server) -> Iterator[Objection]:
    """Yield what a run of `scenario` would wait for in vain.

    Args:
        scenario: one variant.
        fleet: its devices.
        server: of that run, before its first round.
    """
    yield from _quorums(scenario, server)
    yield from _abandoned(scenario, server)
    yield from _limits(scenario, fleet, server)
    yield from _sessions(scenario, fleet, server)


def _quorums(scenario: Scenario, server: Server) -> Iterator[Objection]:
    """Yield the number of clients that are never there at once."""
    policy, least = scenario.rounds.policy, scenario.rounds.min_clients
    if not policy.has_quorum:
        return
    if least is not None and policy.has_edges:
        fewest = min(len(members) for members in policy.edges_of(server) if len(members))
        if fewest < least:
            yield (
                ("rounds", "min_clients"),
                f"{numbered(least, 'client')} to begin an edge's round, but an edge has only "
                f"{fewest} with samples",
            )
            return
    quorum = quorum_of(policy, scenario.rounds.clients, server) if least is None else least
    most = _most_at_once(scenario, server)
    if least is None and most >= quorum:
        return
    rng = partial(server.seeds.stream, "presence", 0)
    if server.candidates.present(quorum, None, rng) >= quorum:
        return
    ever = _ever_there(server, quorum)
    if least is None:
        quorum = min(quorum, ever)  # all who ever come are enough
    if ever < quorum:
        yield (
            ("rounds", "min_clients"),
            f"{numbered(least or 0, 'client')} to begin a round, but only {ever} with samples are "
            "ever available",
        )
    elif most < quorum:
        hint = "" if least is not None else " (`rounds.min_clients` says how many are enough)"
        yield (
            ("rounds", "clients" if least is None else "min_clients"),
            f"a round begins once {quorum} clients are available at once, but never more than "
            f"{most} are{hint}",
        )


def _abandoned(scenario: Scenario, server: Server) -> Iterator[Objection]:
    """Yield how many updates a round needs, if so many never come."""
    if (least := scenario.rounds.policy.least_updates) == 1:
        return
    most = min(len(server.holders), _most_at_once(scenario, server))
    if most < least:
        yield (
            ("rounds", "policy", "min_updates"),
            f"{least} updates, but never more than {numbered(most, 'device')} with samples can be "
            "asked at once, so that each round would be abandoned",
        )


def quorum_of(policy: RoundPolicy, clients: int, server: Server) -> int:
    """Return how many are waited for before a round of `clients`, unless the scenario says it."""
    most = max(map(len, policy.edges_of(server)), default=len(server.holders))
    return min(policy.quorum(clients), most)


def _limits(scenario: Scenario, fleet: Fleet, server: Server) -> Iterator[Objection]:
    """Yield the option by which everybody is called off."""
    if (call_off := scenario.rounds.policy.call_off) is None:
        return
    option, limit_s, ends = call_off
    asks_all = scenario.training.workload.asks_all
    if option != "timeout" and asks_all(timed=False) and not asks_all(timed=True):
        ends = tuple(rule for rule in ends if rule != "bytes")  # who has no time is not asked
    if _ends_by(scenario, fleet, server, ends, limit_s):
        return
    fastest_s, what = _fastest_s(scenario, server, option)
    if fastest_s > limit_s * (1 + 1e-9):
        yield (
            ("rounds", "policy", option),
            f"no device is ever done within {limit_s:g} s, the fastest takes {what}; and "
            f"{_no_end(scenario, ends)}",
        )


def _sessions(scenario: Scenario, fleet: Fleet, server: Server) -> Iterator[Objection]:
    """Yield the fleet, if everybody leaves before anything is done, and does it again and again."""
    policy = scenario.rounds.policy
    # Rounds that nothing arrives in count, where there are any.
    waits = policy.awaits_updates
    kept = {group.on_offline != "abort" for group in scenario.fleet}
    if kept == {True}:  # who pauses is waited for until a deadline
        waits |= policy.has_quorum and (policy.yardstick is None or not policy.enforces)
    ends = ("time",) if waits else ("rounds", "time", "bytes")
    if len(kept) > 1:
        return
    folder = scenario.root
    longest_s = max(group.presence.longest_session_s(folder) for group in scenario.fleet)
    if longest_s == math.inf or _ends_by(scenario, fleet, server, ends, longest_s):
        return
    if kept == {True}:
        least_s = _byte_s(scenario, server)
        what = f"one byte takes {least_s:.4g} s, and of less nothing is kept"
    else:
        least_s, told = _fastest_s(scenario, server, "deadline")
        what = f"the fastest takes {told}, and leaving aborts its work"
    if least_s > longest_s * (1 + 1e-9):
        yield (
            ("fleet",),
            f"no device is online for longer than {longest_s:g} s, {what}; and "
            f"{_no_end(scenario, ends)}",
        )


def _ends_by(
    scenario: Scenario, fleet: Fleet, server: Server, ends: tuple[str, ...], lasts_s: float
) -> bool:
    """Return whether a stopping rule is met though nobody is ever done.

    Where `bytes` do that, some move in time; so does energy, if somebody spends some.

    Args:
        scenario: one variant.
        fleet: its devices.
        server: of its run.
        ends: the rules that are met if nobody is.
        lasts_s: after so long everybody stops.
    """
    stop = scenario.rounds.stop
    if any(getattr(stop, rule) is not None for rule in ends if rule != "bytes"):
        return True
    if "bytes" not in ends:
        return False
    first_byte_s = (fleet.latency_s + 8 / fleet.downlink_bps)[server.holders].min()
    moves = _varies(scenario) or first_byte_s <= lasts_s
    spends = stop.energy is not None and _spends(fleet, server, lasts_s)
    return (stop.bytes is not None and moves) or spends


def _spends(fleet: Fleet, server: Server, lasts_s: float) -> bool:
    """Return whether some device draws power in the first so many seconds of its work."""
    down_s, compute_s, up_s = server.nominal_phases_s()
    ends_s = np.cumsum([np.zeros(len(fleet)), down_s, compute_s, up_s], axis=0)
    lengths_s = np.diff(np.minimum(ends_s, lasts_s), axis=0)
    watts = np.zeros((3, len(fleet)))
    for group in fleet.groups:
        power = [group.power.download, group.power.compute, group.power.upload]
        watts[:, group.first : group.first + group.count] = np.array(power)[:, None]
    return bool(((watts * lengths_s) > 0)[:, server.holders].any())


def _no_end(scenario: Scenario, ends: tuple[str, ...]) -> str:
    """Say which rules would end the run and are not there; of bytes that are, none ever moves."""
    missing = [rule for rule in ends if getattr(scenario.rounds.stop, rule) is None]
    return f"`rounds.stop` names no {' or '.join(missing)}"


def _ever_there(server: Server, enough: int) -> int:
    """Return how many can take part at the start or come back later; looks for no more than that.

    Args:
        server: whose clients.
        enough: any number from here on will do.
    """
    reachable = len(server.candidates.reachable(server.candidates.able))
    return reachable if reachable >= enough else reachable + len(server.candidates.returns_s())


def _most_at_once(scenario: Scenario, server: Server) -> int:
    """Return how many devices can be available at one instant, at the most."""
    return sum(
        group.presence.most_at_once(group.count, server.seeds, scenario.root)
        for group in scenario.fleet
    )


def _byte_s(scenario: Scenario, server: Server) -> float:
    """Return what no upload of a byte is faster than, seconds; 0 where that can't be known.

    Transfers go on by whole bytes where they stopped, each time after the latency, and with what
    protocols add to a message: where the last byte does not fit, none ends.
    """
    return 0.0 if _varies(scenario) else float(server.upload_s(1)[server.holders].min())


def _varies(scenario: Scenario) -> bool:
    """Return whether transfers or trainings may be faster than planned."""
    return scenario.network.reads_files or any(
        group.link_jitter or group.compute_jitter for group in scenario.fleet
    )


def _fastest_s(scenario: Scenario, server: Server, option: str) -> tuple[float, str]:
    """Return what no participation is faster than, seconds, and in words; 0 if that isn't known.

    Args:
        scenario: one variant.
        server: of its run.
        option: which limits participations; they are planned for a deadline, not for a timeout.
    """
    # A client that was probed has the model already, and need not download it.
    if _varies(scenario) or overrides(scenario.selection, Selector.probe):
        return 0.0, ""
    if scenario.training.workload.asks_all(timed=option != "timeout"):
        fastest_s = float(server.nominal_round_s().min())
        return fastest_s, f"{fastest_s:.4g} s"
    down_s, _, up_s = server.nominal_phases_s()  # what there is to compute hangs on the time left
    fastest_s = float((down_s + up_s)[server.holders].min())
    return fastest_s, f"{fastest_s:.4g} s to download and upload alone"
