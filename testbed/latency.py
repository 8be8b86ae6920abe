"""What a byte takes from one end of the network to another, measured before a run."""

import math
import socket
import statistics
import time
from functools import partial

from testbed.network import Network
from testbed.processes import FORK, start

PINGS = 31
LIMIT_S = 20.0


def latencies(network: Network, clients: int) -> list[float]:
    """Return each client's one-way latency, seconds: half of a byte's way there and back.

    The median of `PINGS` over a TCP connection, one client after another.

    Args:
        network: entered, and with nothing under way.
        clients: how many.

    Raises:
        RuntimeError: there was no answer in `LIMIT_S`.
    """
    host, port = network.address.split(":")
    found, listens = FORK.Array("d", [math.nan] * clients), FORK.Event()

    def answer() -> None:
        with socket.create_server((host, int(port))) as server:
            listens.set()
            while True:
                connection, _ = server.accept()
                with connection:
                    _at_once(connection)
                    while byte := connection.recv(1):
                        connection.sendall(byte)

    def ask(number: int) -> None:
        with socket.create_connection((host, int(port)), LIMIT_S) as connection:
            _at_once(connection)
            turns_s = [_turn_s(connection) for _ in range(PINGS)]
        found[number] = statistics.median(turns_s) / 2

    answering = start(network, "s", answer)
    try:
        listens.wait(LIMIT_S)
        for number in range(clients):
            asking = start(network, f"c{number}", partial(ask, number))
            asking.join(LIMIT_S)
            asking.kill()
    finally:
        answering.kill()
        answering.join()
    seconds = [found[number] for number in range(clients)]
    if any(math.isnan(each) for each in seconds):
        raise RuntimeError("the testbed's network carries nothing")
    return seconds


def _at_once(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _turn_s(connection: socket.socket) -> float:
    began = time.monotonic()
    connection.sendall(b".")
    connection.recv(1)
    return time.monotonic() - began
