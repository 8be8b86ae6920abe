"""How much sooner a message is there than the rate of its link says: what bursts let through.

    python -m testbed.bursts

A token bucket lets through at once what it has gathered during a pause.  One message after another
is sent away from the server over links that lose nothing, each after a pause; told is how much
sooner its last byte is there than the bytes of its packets take at the link's rate, beside what
the bucket holds (`testbed.limits.Limit.bursts`) at that rate.
"""

import socket
import statistics
import time

from testbed.limits import Limit
from testbed.namespaces import Namespaces
from testbed.processes import FORK, start
from testbed.wire import HEADERS, SEGMENT

RATES_BPS = (2e6, 4e6, 8e6, 20e6)
SIZE, MESSAGES = 50_000, 15
PAUSE_S, LIMIT_S = 0.25, 60.0


def main() -> None:
    """Print a line a rate."""
    print("{:>12}{:>14}{:>12}".format("link", "bucket, ms", "sooner, ms"))
    for bps in RATES_BPS:
        bucket_s = 8 * Limit(bps).bursts / bps
        print(f"{bps / 1e6:>5.0f} Mbit/s{1e3 * bucket_s:>14.1f}{1e3 * sooner_s(bps):>12.1f}")


def sooner_s(bps: float) -> float:
    """Return by how much the rate of a link says too much for a message, seconds; the median."""
    taken_s = FORK.Array("d", MESSAGES)

    with Namespaces((1e9, 1e9), [(bps, bps)], queue="deep") as network:
        host, port = network.address.split(":")
        listens = FORK.Event()

        def serve() -> None:
            with socket.create_server((host, int(port))) as server:
                listens.set()
                connection, _ = server.accept()
                for number in range(MESSAGES):
                    time.sleep(PAUSE_S)
                    taken_s[number] = -time.monotonic()
                    connection.sendall(bytes(SIZE))
                    connection.recv(1)

        def receive() -> None:
            with socket.create_connection((host, int(port)), LIMIT_S) as connection:
                for number in range(MESSAGES):
                    left = SIZE
                    while left:
                        left -= len(connection.recv(left))
                    taken_s[number] += time.monotonic()
                    connection.sendall(b".")

        start(network, "s", serve)
        listens.wait(LIMIT_S)
        receiving = start(network, "c0", receive)
        receiving.join(LIMIT_S)
        if receiving.exitcode != 0:
            raise RuntimeError("the testbed's network carries nothing")
    packets = -(-SIZE // SEGMENT)
    return 8 * (SIZE + packets * HEADERS) / bps - statistics.median(taken_s[:])


if __name__ == "__main__":
    main()
