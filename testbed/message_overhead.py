"""What protocols add to every message of the testbed's federation, whatever its size.

    python -m testbed.message_overhead

Federations of models of several sizes run over links that lose nothing.  Told is what crosses the
server's interface, away from it and towards it, beyond the model and what protocols add to every
byte: in a participation, by which a longer run has more than a shorter one; and, once for each
client, for its connection to begin and to end.
"""

import io
from functools import partial

import numpy as np

from testbed.client import Client
from testbed.journals import writer
from testbed.measure import traffic
from testbed.messages import Floats
from testbed.namespaces import Namespaces
from testbed.processes import start, to_the_end
from testbed.rules import Rules
from testbed.server import Server
from testbed.wire import HEADERS, PER_ANSWERED_BYTE, PER_BYTE, SEGMENT

NUMBERS = (1, 100, 1000, 10_000, 50_000)
ROUNDS = (4, 24)
COMPUTE_S = (0.25, 0.4)
"""Of the clients: longer than an answer waits for something to travel with (40 ms)."""
LINK_BPS, LIMIT_S = 20e6, 60.0


def main() -> None:
    """Print a line a size."""
    print("{:>9}{:>18}{:>24}".format("model", "of a message, B", "of a connection, B"))
    print("{:>18}{:>9}{:>15}{:>9}".format("down", "up", "down", "up"))
    for numbers in NUMBERS:
        few, many = (np.array(crossed(numbers, rounds)) / len(COMPUTE_S) for rounds in ROUNDS)
        turn, size = (many - few) / (ROUNDS[1] - ROUNDS[0]), 4 * numbers
        down, up = turn - size * (1 + PER_BYTE + PER_ANSWERED_BYTE)
        once_down, once_up = few - ROUNDS[0] * turn
        print(f"{size:>7} B{down:>9.0f}{up:>9.0f}{once_down:>15.0f}{once_up:>9.0f}", flush=True)


def crossed(numbers: int, rounds: int) -> tuple[int, int]:
    """Return the bytes away from the server and towards it of a run with so large a model."""
    model, clients = np.zeros(numbers, np.float32), len(COMPUTE_S)

    def serve() -> None:
        told = Rules(rounds, clients, clients, clients)
        to_the_end(Server(told, model, writer(io.StringIO())).run(network.address))

    def train(model: Floats, _: int) -> tuple[Floats, dict[str, float]]:
        return model, {}

    def take_part(number: int) -> None:
        client = Client(number, 1, COMPUTE_S[number], train, writer(io.StringIO()))
        to_the_end(client.run(network.address))

    with Namespaces((1e9, 1e9), [(LINK_BPS, LINK_BPS)] * clients, model.nbytes, "deep") as network:
        before = network.counters()
        server = start(network, "s", serve)
        for number in range(clients):
            start(network, f"c{number}", partial(take_part, number))
        server.join(LIMIT_S)
        received, sent, _, _, again = traffic(before, network.counters())["s"]
    return sent - again * (SEGMENT + HEADERS), received


if __name__ == "__main__":
    main()
