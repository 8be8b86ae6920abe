"""Rates of links, by `tc`: what leaves a device passes at a rate, waits in a queue, or is lost."""

from collections.abc import Callable
from dataclasses import dataclass

from testbed.commands import run

QUEUE_S, LEAST_QUEUE = 0.04, 64_000
"""What a queue holds, in seconds at its rate; and bytes at least."""
BURST_S, LEAST_BURST = 0.003, 3200
"""What passes at once after a pause, in seconds at the rate; and bytes at least: two packets."""


@dataclass(frozen=True)
class Limit:
    """What limits a link in one direction.

    Attributes:
        bps: bit/s (inf: nothing does).
        burst: bytes that pass at once after a pause, at least.
        queue: bytes that can wait, at least.
    """

    bps: float
    burst: float = 0.0
    queue: float = 0.0

    @property
    def bursts(self) -> float:
        """The bytes that pass at once after a pause."""
        return max(LEAST_BURST, self.bps * BURST_S / 8, self.burst)

    @property
    def waits(self) -> float:
        """The bytes that can wait."""
        return max(LEAST_QUEUE, self.bps * QUEUE_S / 8, self.queue)


def limit(namespace: str, device: str, to: Limit) -> None:
    """Limit what leaves `device`, first in, first out."""
    if to.bps < float("inf"):
        rate = f"rate {to.bps:.0f}bit burst {to.bursts:.0f} limit {to.waits:.0f}"
        _adder(namespace, device)("qdisc", f"root tbf {rate}")


def limit_fairly(namespace: str, device: str, to: Limit, clients: int, by: str) -> None:
    """Limit what leaves `device`, so that so many clients share it; `by` which address ("src")."""
    if to.bps == float("inf"):
        return
    add = _adder(namespace, device)
    most = f"ceil {to.bps:.0f}bit cburst {to.bursts:.0f} quantum 1514"
    add("qdisc", "root handle 1: htb default 20")
    add("class", f"parent 1: classid 1:1 htb rate {to.bps:.0f}bit {most} burst {to.bursts:.0f}")
    for number in range(2, clients + 2):
        leaf, share = f"1:{number:x}0", f"htb rate {to.bps / clients:.0f}bit {most}"
        # Every client's burst comes on top of the link's: a packet has to do.
        add("class", f"parent 1:1 classid {leaf} {share} burst 1600")
        add("qdisc", f"parent {leaf} bfifo limit {to.waits / clients:.0f}")
        match = f"u32 match ip {by} 10.83.0.{number} flowid {leaf}"
        add("filter", f"parent 1: protocol ip prio 1 {match}")


def _adder(namespace: str, device: str) -> Callable[[str, str], None]:
    def add(what: str, words: str) -> None:
        run("tc", "-n", namespace, what, "add", "dev", device, *words.split())

    return add
