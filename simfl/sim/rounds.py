"""All rounds of a run: a policy conducts them, whose rules may change on the way."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import simpy

from simfl.components.workloads.base import Workload
from simfl.core.at_work import Doing, asking, users_own
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.sim.policies.base import Process, RoundPolicy
from simfl.sim.server.server import Server
from simfl.sim.server.settings import Settings

Conducts = Generator[simpy.Event, Any, bool]
"""Returns whether the rounds have ended, see `Server.conduct`."""


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


def main(server: Server, policy: RoundPolicy, changes: Sequence[RuleChange] = ()) -> Process:
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
    begin = _conducted(policy, server)
    for number, change in enumerate(changes, start=1):
        if (yield from begin(change.at_s)):
            return
        begin = yield from _changed(server, number, change)
    yield from begin(math.inf)


def _changed(
    server: Server, number: int, change: RuleChange
) -> Generator[simpy.Event, Any, Callable[[float], Conducts]]:
    """Change the rules; return what goes on by them."""
    if change.policy is None:
        server.follow(change.settings, change.workload)
        return server.go_on
    yield from server.interrupt()
    server.follow(change.settings, change.workload)
    change.adopt()
    server.state.note("forked", fork=number, round=server.state.round)
    server.close_round()
    return _conducted(change.policy, server)


def _conducted(policy: RoundPolicy, server: Server) -> Callable[[float], Conducts]:
    """Return what runs `policy` until a given instant, see `Server.conduct`."""
    watch = partial(_watched, policy, server)
    return partial(server.conduct, _rounds(policy, server), policy.server_time, watch)


def _rounds(policy: RoundPolicy, server: Server) -> Process:
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
