"""All rounds of a run: a policy conducts them, whose rules may change on the way."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import simpy

from simfl.components.workloads.base import Workload
from simfl.core.at_work import Doing, asking
from simfl.core.blame import blaming
from simfl.core.ownership import users_own
from simfl.core.returned import expect
from simfl.sim.policies.base import Process, RoundPolicy
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Settings
from simfl.sim.timeline import LAST


@dataclass(frozen=True)
class RuleChange:
    """Other rules from an instant on.

    Attributes:
        at_s: everything that happens at that very instant is still under the former ones.
        settings: what the server is told then.
        policy: fresh; None: the former one goes on, and so does everybody at work.
        workload: what clients do then when their time is short, fresh; None: as before.
        adopt: tells whoever answers the server.
    """

    at_s: float
    settings: Settings
    policy: RoundPolicy | None = None
    workload: Workload | None = None
    adopt: Callable[[], None] = lambda: None


def run_rounds(server: Server, policy: RoundPolicy, changes: Sequence[RuleChange] = ()) -> Process:
    """Run `policy` until it finishes or virtual time is up; the process that a run waits for.

    Args:
        server: who is told what to do.
        policy: of the run.
        changes: of the rules, in the order in which they come.
    """
    server.begin()
    if not server.finished:  # by the model that the run begins with
        yield from _all_rounds(server, policy, changes)
    yield from server.conclude()


def _all_rounds(server: Server, policy: RoundPolicy, changes: Sequence[RuleChange]) -> Process:
    rounds = _Rounds(server, policy)
    for number, change in enumerate(changes, start=1):
        if (yield from rounds.go_on(change.at_s)):
            return
        if change.policy is None:
            server.follow(change.settings, change.workload)
        else:
            yield from _interrupt(server, number, change)
            rounds = _Rounds(server, change.policy)
    yield from rounds.go_on(math.inf)


def _interrupt(server: Server, number: int, change: RuleChange) -> Process:
    """End the rounds that were begun, and change the rules."""
    yield from server.interrupt()
    server.follow(change.settings, change.workload)
    change.adopt()
    server.state.note("forked", fork=number, round=server.state.round)
    server.close_round()


class _Rounds:
    """The rounds of one policy, which begin now."""

    def __init__(self, server: Server, policy: RoundPolicy) -> None:
        self._server = server
        watch = partial(_watched, policy, server)
        server.attend(policy.server_time, policy.edges_of(server), watch)
        self._process = server.spawn(_run(policy, server))

    def go_on(self, until_s: float) -> Generator[simpy.Event, Any, bool]:
        """Go on until they end or virtual time is up; return whether they have ended.

        Args:
            until_s: until this instant of a run that goes on after it, inclusive; what is under
                way then stays so (inf: to the end of the run).
        """
        server, process, stop_s = self._server, self._process, self._server.settings.stop.time_s
        over: simpy.Event = process
        # Other rules begin to the bit, and before time is up; what happens as it is has happened.
        if until_s < math.inf:
            over |= server.timeline.at(until_s, LAST)
        elif stop_s is not None:
            over |= server.timeline.time_up(stop_s, LAST)
        yield over | server.failed
        if process.is_alive and until_s == math.inf:
            server.finish("time")
        return until_s == math.inf or not process.is_alive


def _run(policy: RoundPolicy, server: Server) -> Process:
    process = policy.run(server)
    expect(isinstance(process, Generator), "a generator of events", type(process).__name__)
    yield from process
    expect(server.finished, "rounds until `server.finished`", "an end before that")


def _watched(policy: RoundPolicy, server: Server, process: Process) -> Process:
    """Do as a `process` of the policy's does; what goes wrong in it is told as its fault."""

    def doing() -> str:
        return f"in round {server.state.round}"

    with blaming(policy, doing, passing=simpy.Interrupt, steps=True):
        yield from _step_by_step(policy, process, doing) if users_own([policy]) else process


def _step_by_step(policy: RoundPolicy, process: Process, doing: Doing) -> Process:
    """Do as `process` does, as long as it yields events: SimPy would blame nobody for others."""
    step: Callable[[], simpy.Event] = partial(next, process)
    while True:
        try:
            with asking([policy], doing):
                event = step()
        except StopIteration:
            return
        expect(isinstance(event, simpy.Event), "events to wait for", f"{event!r}")
        try:
            value = yield event
        except GeneratorExit:
            process.close()
            raise
        except BaseException as error:
            step = partial(process.throw, error)
        else:
            step = partial(process.send, value)
