"""Latency for kernels without `netem`: cables on which every packet takes a while longer.

    python -m testbed.delay SECONDS DEVICE DEVICE [SECONDS DEVICE DEVICE ...]

Passes what comes in at one device of a pair out at the other, both ways, after so many seconds,
until its standard input ends.  To be run in the devices' namespace; they need no addresses.
"""

import heapq
import selectors
import socket
import sys
import time
from contextlib import suppress
from itertools import count
from typing import NamedTuple

_EVERY_PROTOCOL, _OWN = 3, 4
"""ETH_P_ALL; PACKET_OUTGOING: what this machine sends itself."""
_SOL_PACKET, _VNET_HEADERS = 263, 15
"""So that a checksum which nobody has worked out yet travels as such."""
_SEND_BUFFER_FORCE, _ROOM = 32, 1 << 22
_LARGEST = 2048


class Packet(NamedTuple):
    """What is under way; the first due comes first, and none overtakes another."""

    due_s: float
    number: int
    out: socket.socket
    content: bytes


def _open(device: str) -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_EVERY_PROTOCOL))
    opened.setsockopt(_SOL_PACKET, _VNET_HEADERS, 1)
    opened.setsockopt(socket.SOL_SOCKET, _SEND_BUFFER_FORCE, _ROOM)
    opened.bind((device, 0))
    opened.setblocking(False)
    return opened


def main(words: list[str]) -> None:
    """Delay what passes each pair of devices."""
    waiting, numbers = list[Packet](), count()
    with selectors.DefaultSelector() as selector:
        for seconds, *devices in zip(words[::3], words[1::3], words[2::3], strict=True):
            ends = [_open(device) for device in devices]
            for end, other in zip(ends, reversed(ends), strict=True):
                selector.register(end, selectors.EVENT_READ, (float(seconds), other))
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("ready", flush=True)
        while True:
            left = max(waiting[0].due_s - time.monotonic(), 0) if waiting else None
            for key, _ in selector.select(left):
                if key.fileobj is sys.stdin:
                    return
                assert isinstance(key.fileobj, socket.socket)
                delay_s, out = key.data
                with suppress(BlockingIOError):
                    while True:
                        content, (*_, kind, _, _) = key.fileobj.recvfrom(_LARGEST)
                        if kind != _OWN:
                            due_s = time.monotonic() + delay_s
                            heapq.heappush(waiting, Packet(due_s, next(numbers), out, content))
            while waiting and waiting[0].due_s <= time.monotonic():
                packet = heapq.heappop(waiting)
                with suppress(OSError):  # a full queue loses packets
                    packet.out.send(packet.content)


if __name__ == "__main__":
    main(sys.argv[1:])
