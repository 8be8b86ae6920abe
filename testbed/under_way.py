"""What connections have under way that share their sender's own link, and what their windows allow.

    python -m testbed.under_way

The server sends eight clients a message each, one right after another, over a link with room for
everything in its queue.  Its kernel tells every few milliseconds how many packets of each
connection are under way or in the queue, and how many its window would let go: what is less, and
not for want of bytes, the kernel itself holds up before its queue.  It counts the memory that
packets take, as it does against the size of a send buffer: told, too.
"""

import fcntl
import socket
import statistics
import struct
import termios
import time
from collections.abc import Sequence
from typing import NamedTuple

from testbed.namespaces import LARGE, Namespaces
from testbed.processes import FORK, start
from testbed.wire import SEGMENT

CLIENTS, MESSAGES, SIZE = 8, 8, 210_000
RATES_BPS, FREE_BPS = (10e6, 40e6, 160e6), 1e9
PAUSE_S, EVERY_S, LIMIT_S = 0.5, 0.004, 60.0
COUNTS = "8x19I"
"""Of Linux's `struct tcp_info`, its numbers of 32 bits, and which of them are asked for here."""
SENT, WINDOW = 4, 18
SO_SNDBUFFORCE = 32
"""Of Linux: a send buffer of any size."""
SO_MEMINFO, MEMORY = 55, "20xI"
"""Of Linux: what it counts of a socket's memory; what is queued to be sent or answered of that."""


class Sent(NamedTuple):
    """A message: seconds until all of it was there, and means until then.

    Attributes:
        over_s: the seconds.
        under_way, window: packets.
        memory: bytes that the kernel counts for a full packet.
    """

    over_s: float
    under_way: float
    window: float
    memory: float


def main() -> None:
    """Print what the connection that was over first had, and the others."""
    row = "{:<12}{:<8}{:>10}{:>20}{:>17}{:>20}"
    heads = ("over, ms", "under way, packets", "window, packets", "memory a packet, B")
    print(row.format("link", "who", *heads))
    for bps in RATES_BPS:
        messages = [sorted(message) for message in measure(bps)]
        for who, of in (("first", slice(0, 1)), ("others", slice(1, None))):
            some = [sent for message in messages for sent in message[of]]
            over_s, *packets, memory = map(statistics.mean, zip(*some, strict=True))
            told = (f"{bps / 1e6:.0f} Mbit/s", who, f"{1e3 * over_s:.0f}")
            print(row.format(*told, *(f"{number:.1f}" for number in packets), f"{memory:.0f}"))


def measure(bps: float) -> list[list[Sent]]:
    """Return what was told of all connections over a link of so many bit/s, message by message."""
    told = FORK.Array("d", MESSAGES * CLIENTS * len(Sent._fields))
    free = [(FREE_BPS, FREE_BPS)] * CLIENTS
    with Namespaces((FREE_BPS, bps), free, queue="deep") as network:
        host, port = network.address.split(":")
        listens = FORK.Event()

        def serve() -> None:
            with socket.create_server((host, int(port)), backlog=CLIENTS) as server:
                listens.set()
                connections = [server.accept()[0] for _ in range(CLIENTS)]
            for connection in connections:  # nobody waits for room for a message
                connection.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, LARGE)
            every = [number for _ in range(MESSAGES) for number in _send(connections)]
            told[:] = every

        def receive() -> None:
            with socket.create_connection((host, int(port)), LIMIT_S) as connection:
                while connection.recv(SIZE):
                    pass

        serving = start(network, "s", serve)
        listens.wait(LIMIT_S)
        for client in range(CLIENTS):
            start(network, f"c{client}", receive)
        serving.join(LIMIT_S)
        if serving.exitcode != 0:
            raise RuntimeError("the testbed's network carries nothing")
    numbers = iter(told[:])
    sent = [Sent(*one) for one in zip(*[numbers] * len(Sent._fields), strict=True)]
    return [sent[at : at + CLIENTS] for at in range(0, len(sent), CLIENTS)]


def _send(connections: Sequence[socket.socket]) -> list[float]:
    """Send a message down each, after a pause; return the numbers of `Sent`, one after another."""
    time.sleep(PAUSE_S)
    began_s = [0.0] * len(connections)
    for number, connection in enumerate(connections):
        began_s[number] = time.monotonic()
        connection.sendall(bytes(SIZE))
    looks: list[list[tuple[float, ...]]] = [[] for _ in connections]
    over_s: dict[int, float] = {}
    while len(over_s) < len(connections):
        time.sleep(EVERY_S)
        for number, connection in enumerate(connections):
            if number not in over_s:
                if look := _look(connection):
                    looks[number].append(look)
                else:
                    over_s[number] = time.monotonic() - began_s[number]
    numbers: list[float] = []
    for client, seen in enumerate(looks):
        under_way, window, memory = zip(*seen, strict=True)
        means = statistics.mean(under_way), statistics.mean(window)
        numbers += [over_s[client], *means, max(memory)]  # less where packets are answered in part
    return numbers


def _look(connection: socket.socket) -> tuple[float, ...]:
    """Return packets under way and of the window, and memory a packet; (): nothing is under way."""

    def ask(level: int, what: int, form: str) -> tuple[int, ...]:
        return struct.unpack(form, connection.getsockopt(level, what, struct.calcsize(form)))

    counts = ask(socket.IPPROTO_TCP, socket.TCP_INFO, COUNTS)
    [memory] = ask(socket.SOL_SOCKET, SO_MEMINFO, MEMORY)
    [queued] = struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))
    if not (counts[SENT] and queued):
        return ()
    return counts[SENT], counts[WINDOW], memory / -(-queued // SEGMENT)


if __name__ == "__main__":
    main()
