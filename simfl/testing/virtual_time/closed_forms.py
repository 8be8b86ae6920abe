"""The closed forms of `selftest`: what each says, and what is measured."""

import math
from functools import cache
from pathlib import Path

import numpy as np

from simfl.components.availability.base import availabilities
from simfl.core.seeds import Seeds
from simfl.core.types import Floats
from simfl.scenario.parts.correlation import Correlations
from simfl.sim.battery import Batteries
from simfl.sim.fleet import Power
from simfl.sim.networks.links.fair_link import FairLink
from simfl.sim.networks.links.fair_tree import FairTree
from simfl.testing.virtual_time.handmade import make_fleet, simulate, transfer_ends

Pair = tuple[float, float]
"""What is expected, and what is measured."""

_K, _ROUNDS, _MEAN_S = 10, 1000, 3.0
_POWER = Power(idle=0.5, download=1.0, compute=4.0, upload=2.0)


def one_device() -> Pair:
    """A lone device's round is the sum of its parts."""
    fleet = make_fleet(1, seconds=7.0, bps=8_000.0, latency_s=0.25)
    end_s = simulate(fleet, size=3_000).rounds[0].end_s
    return (0.25 + 3.0) + 7.0 + (0.25 + 3.0), end_s


def slow_start() -> Pair:
    """A link that is never the limit, and windows of 1, 2, 4 and 8 kB before 15 kB have gone.

    The last of them arrives after the three answers that it waits for, and one way more.
    """
    fleet = make_fleet(1, seconds=7.0, latency_s=0.25)
    network = {"name": "shared", "initial_window": "1 kB"}
    end_s = simulate(fleet, size=15_000, network=network).rounds[0].end_s
    return 2 * (3 * 0.5 + 0.25) + 7.0, end_s


def equal_transfers() -> Pair:
    """Equal transfers that start together share a link equally, and end together."""
    ends = transfer_ends(5_000.0, [(0.0, 8_000.0)] * 40)
    return 40 * 8_000 / 5_000, max(ends) if max(ends) == min(ends) else math.nan


def staggered_transfers() -> Pair:
    """Three transfers of 800 bit over 100 bit/s that start at 0, 4 and 10 s.

    The first has moved 400 bit alone by 4 s, 700 by 10 s (at 50 bit/s) and its last 100 at 13 s (at
    33 1/3).  By then the second has 400 bit to go and the third 700; at 50 bit/s each the second
    ends at 21 s, and the third moves its last 300 bit alone until 24 s.
    """
    ends = transfer_ends(100.0, [(0.0, 800.0), (4.0, 800.0), (10.0, 800.0)])
    by_hand = [13.0, 21.0, 24.0]
    return by_hand[-1], ends[-1] if np.allclose(ends, by_hand, rtol=1e-12) else math.nan


def limited_transfers() -> Pair:
    """Four devices of 10 bit/s on a link of 100 bit/s are limited by their own links."""
    return 80.0, max(transfer_ends(100.0, [(0.0, 800.0)] * 4, device_bps=10.0))


def cell_below_server() -> Pair:
    """Two floors: a cell of 4 bit/s below a server's link of 12 bit/s.

    The cell gives its two flows 2 bit/s each, the two beside it have 4 each of what is left.  At
    10 s all have moved what they wanted but the last, which has 60 of its 100 bit to go, alone.
    """
    tree = FairTree(12.0, [4.0])
    for bits, cell in ((20.0, 0), (20.0, 0), (40.0, -1), (100.0, -1)):
        tree.join(0.0, bits, math.inf, cell=cell)
    ends = []
    while len(tree):
        ends += [tree.next_end()] * len(tree.finish(tree.next_end()))
    return 10.0 + 60.0 / 12.0, ends[-1] if np.allclose(ends[:3], 10.0, rtol=1e-12) else math.nan


def _traffic(n: int, load: float) -> tuple[Floats, Floats]:
    """Return `(n,)` when transfers start (Poisson) and `(n,)` what each takes alone, two sizes."""
    rng = Seeds(0).stream("selftest", "traffic")
    alone_s = np.where(rng.random(n) < 0.9, 0.5, 5.5)  # mean 1
    return np.cumsum(rng.exponential(1 / load, n)), alone_s


def sum_of_rates() -> Pair:
    """Rates never add up to more than the link, and to all of it whenever somebody wants more."""
    link, rng, worst = FairLink(1.0), Seeds(0).stream("selftest", "rates"), 0.0
    starts, alone_s = _traffic(2_000, 0.8)
    for start_s, bits in zip(starts.tolist(), alone_s.tolist(), strict=True):
        while link.next_end() <= start_s:
            link.finish(link.next_end())
        link.join(start_s, bits, float(rng.choice([0.05, 0.3, math.inf])))
        rates = link.rates()
        total = math.fsum(count * rate for count, rate in rates.values())
        wanted = math.fsum(count * limit for limit, (count, _) in rates.items())
        worst = max(worst, total, 1 + abs(total - min(1.0, wanted)))
    return 1.0, worst


def busy_period() -> Pair:
    """A link that is never idle while there is work ends as a single queue would (Lindley)."""
    starts, alone_s = _traffic(500, 0.9)
    free_s = 0.0
    for start_s, work_s in zip(starts.tolist(), alone_s.tolist(), strict=True):
        free_s = max(free_s, start_s) + work_s
    bits = zip(starts.tolist(), (alone_s * 8_000).tolist(), strict=True)
    return free_s, max(transfer_ends(8_000.0, list(bits)))


def processor_sharing() -> Pair:
    """Mean response of M/G/1 processor sharing: E[S] / (1 - load), whatever the distribution of S.

    Kleinrock, Queueing Systems, vol. 2 (1976), section 4.4.
    """
    load = 0.6
    starts, alone_s = _traffic(20_000, load)
    bits = zip(starts.tolist(), (alone_s * 8_000).tolist(), strict=True)
    return 1 / (1 - load), float((np.array(transfer_ends(8_000.0, list(bits))) - starts).mean())


def one_queue() -> Pair:
    """Mean response of one first-in-first-out queue: who comes waits until all before have gone."""
    starts, alone_s = _traffic(2_000, 0.8)
    free_s, responses_s = 0.0, []
    for start_s, work_s in zip(starts.tolist(), alone_s.tolist(), strict=True):
        free_s = max(free_s, start_s) + work_s
        responses_s.append(free_s - start_s)
    arrivals = list(zip(starts.tolist(), (alone_s * 8_000).tolist(), strict=True))
    ends = np.array(transfer_ends(8_000.0, arrivals, queue="fifo"))
    return float(np.mean(responses_s)), float((ends - starts).mean())


def cut_off() -> Pair:
    """Of a transfer cut off at the deadline, what had moved by then is booked, as wasted."""
    fleet = make_fleet(1, bps=800.0, latency_s=0.3)
    log = simulate(fleet, {"name": "synchronous", "deadline": "7.5 s"}, size=100_000)
    return 720.0, float(log.rounds[0].wasted_bytes)


def _times() -> Floats:
    """Return `(rounds, K)` exponential training times."""
    return Seeds(0).stream("selftest", "times").exponential(_MEAN_S, (_ROUNDS, _K))


@cache
def _round_s(policy: str, clients: int) -> Floats:
    """Return `(rounds,)` how long rounds of K clients of their own take."""
    times = _times()
    options = {"name": "synchronous"} | ({"over_select": policy} if policy else {})
    fleet = make_fleet(times.size, seconds=times.ravel())
    log = simulate(fleet, options, clients=clients, rounds=_ROUNDS, selector="round_robin")
    return np.array([row.end_s - row.start_s for row in log.rounds])


def slowest_as_drawn() -> Pair:
    """A synchronous round lasts as long as its slowest client."""
    return float(_times().max(axis=1).sum()), float(_round_s("", _K).sum())


def slowest_of_k() -> Pair:
    """The mean maximum of K exponential times is their mean times H_K = 1 + 1/2 + ... + 1/K."""
    expected = _MEAN_S * sum(1 / k for k in range(1, _K + 1))
    return expected, float(_round_s("", _K).mean())


def first_of_k() -> Pair:
    """The C-th of K exponential times has mean (1/K + ... + 1/(K - C + 1)) times theirs."""
    first = 5
    expected = _MEAN_S * sum(1 / k for k in range(_K - first + 1, _K + 1))
    return expected, float(_round_s("200%", first).mean())


def deadline_tie() -> Pair:
    """Of two clients due at the deadline and a nanosecond after it, one counts."""
    due_s = 0.1 + 0.2  # not a round number
    fleet = make_fleet(2, seconds=[due_s, due_s + 1e-9])
    deadline = {"name": "synchronous", "deadline": f"{due_s!r} s"}
    return 1.0, float(simulate(fleet, deadline).rounds[0].arrived)


def staleness() -> Pair:
    """With M clients at work, M updates arrive while one is made (Little), K of them a version.

    Its own arrival is one of these M, so the mean staleness is (M - 1) / K.
    """
    at_work, buffer, updates = 20, 5, 4_000
    seconds = Seeds(0).stream("selftest", "staleness").uniform(1, 24, 200)
    policy = {"name": "fedbuff", "concurrency": at_work, "buffer": buffer}
    log = simulate(make_fleet(200, seconds=seconds), policy, rounds=updates // buffer)
    stale = [row.staleness for row in log.clients if row.outcome == "arrived"]
    return (at_work - 1) / buffer, float(np.mean(stale[updates // 10 :]))


def duty() -> Pair:
    """Devices that are on for 2 h and off for 6 h, on average, are online a quarter of the time."""
    component = availabilities.parse({"name": "on_off", "on": "2 h", "off": "6 h"})
    n = 20_000
    schedule = component.schedule(n, "devices", Seeds(0), Path())
    instants = np.arange(0, 200, 20) * 3600.0
    return 0.25, float(np.mean([schedule.online(np.arange(n), now) for now in instants.tolist()]))


def leaving() -> Pair:
    """Work ends at the instant at which its device goes offline."""
    options = {"name": "on_off", "on": "1 h", "off": "1 h"}
    schedule = availabilities.parse(options).schedule(50, "devices", Seeds(0), Path())
    online = schedule.online(np.arange(50), 0.0)
    expected = math.fsum(schedule.next_change_s(int(i), 0.0) for i in np.flatnonzero(online))
    fleet = make_fleet(50, seconds=1e6, availability=options, power=Power(compute=1.0))
    log = simulate(fleet)
    return expected, math.fsum(row.energy_j for row in log.clients)


def copula() -> Pair:
    """Two numbers correlated through a Gaussian copula have the rank correlation asked for."""
    rng = Seeds(0).stream("selftest", "copula")
    names, n = ("compute", "downlink"), 20_000
    mixed = Correlations.of({"~".join(names): 0.6}).mix({name: rng.random(n) for name in names})
    ranks = [mixed[name].argsort().argsort() for name in names]
    return 0.6, float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def battery_empties() -> Pair:
    """120 J last for 10 s of download at 1 W, then for 27.5 s of computing at 4 W."""
    batteries = Batteries(np.array([120.0]), np.ones(1), 0.2, 0.0, _POWER.idle, None)
    fleet = make_fleet(1, seconds=60.0, bps=800.0, power=_POWER, batteries=batteries)
    return 10.0 + 110.0 / 4.0, simulate(fleet, size=1_000).first("offline")


def energy() -> Pair:
    """A participation costs each phase's power times its time."""
    fleet = make_fleet(1, seconds=7.0, bps=800.0, latency_s=0.5, power=_POWER)
    expected = 1.0 * 10.5 + 4.0 * 7.0 + 2.0 * 10.5
    return expected, simulate(fleet, size=1_000).clients[0].energy_j
