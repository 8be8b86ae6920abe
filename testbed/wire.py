"""Bytes booked, and bytes that crossed the server's interface."""

from typing import NamedTuple

from testbed.journals import Run
from testbed.namespaces import LARGE, SEND_BYTES

SEGMENT, HEADERS = 1448, 66
"""Bytes of payload in a full packet, and of Ethernet, IP and TCP (with timestamps) before them."""
MEMORY = 2280
"""Bytes of memory that Linux counts for a full packet (`python -m testbed.under_way`): it counts
them, not those of payload, against the size of a send buffer."""
INITIAL_WINDOW = 10 * SEGMENT
"""What TCP sends before it waits for an answer (RFC 6928), on a connection that is new or idle."""
PER_BYTE = (1 + HEADERS / SEGMENT) * (1 + 9 / 16384) - 1
"""Added to every byte: headers of packets, and of HTTP/2's frames of 16 KiB."""
PER_ANSWERED_BYTE = HEADERS / (2 * SEGMENT)
"""Every second packet is acknowledged (RFC 5681, 4.2): bytes that go the other way."""
PER_LOST = 3.7 * HEADERS
"""While a packet is missing every other one is acknowledged at once (RFC 5681, 4.2): bytes that go
the other way for each that is sent once more; the mean of what four runs with short queues had more
of than those with deep ones, which lose nothing (2.8 to 4.7 packets)."""


class Overhead(NamedTuple):
    """What protocols add: a share of every byte, and bytes from the server and to it.

    Attributes:
        per_byte: the share.
        down, up: bytes of a participation; a simulation is given their mean for each message.
        opening_down, opening_up: bytes of a client, for its connection to begin and to end.
    """

    per_byte: float = 0.0
    down: float = 0.0
    up: float = 0.0
    opening_down: float = 0.0
    opening_up: float = 0.0

    @property
    def per_message(self) -> float:
        """The bytes that are added to a message, either way."""
        return (self.down + self.up) / 2

    def gross(self, size: float) -> float:
        """Return how many bytes cross the wire for a message of `size`."""
        return size * (1 + self.per_byte) + self.per_message


NOTHING = Overhead()
GRPC = Overhead(PER_BYTE, 240, 340, 1000, 1900)
"""Of the testbed's own federation: headers of HTTP/2 and gRPC, the JSON before the numbers, the
packets' own; as `python -m testbed.message_overhead` counts them with the smallest model."""
FLOWER = Overhead(PER_BYTE, 4900, 9300)
"""Of Flower, whose messages are made of objects that are announced, asked for and sent one by one;
as counted with a model of 805 numbers (hidden: [1] in the scenario `flower`), whose nodes had been
connected before."""


def wire_errors(real: Run, simulated: Run, overhead: Overhead) -> tuple[float, float]:
    """Return the relative errors of the bytes away from the server and towards it.

    What TCP counts as sent once more is left out: the links lose packets where a queue is full,
    which is nothing that a simulation of whole transfers knows of.  So are updates that the end of
    the run cuts off, measured and simulated: which those are, and how far they have come, hangs on
    when the last round ends, and is no matter of how bytes are counted.
    """
    if "s" not in real.wire:
        return float("nan"), float("nan")
    received, sent, _, _, again = real.wire["s"]
    clients = simulated.clients
    whole = clients[clients.outcome != "unfinished"]
    down, up = float(clients.download_bytes.sum()), float(whole.upload_bytes.sum())
    size = clients.download_bytes.max()
    unsent = size - clients.download_bytes[clients.outcome == "unfinished"]
    down += float(unsent.clip(upper=LARGE).sum())  # which the server's kernel has already
    turns, who = len(clients), clients.client.nunique()
    away = down * (1 + overhead.per_byte) + up * PER_ANSWERED_BYTE
    away += overhead.down * turns + overhead.opening_down * who
    broken_off = int(whole.upload_bytes.between(1, whole.upload_bytes.max() - 1).sum())
    up += SEND_BYTES * broken_off  # at least: what has been written (`testbed.broken_off`)
    towards = up * (1 + overhead.per_byte) + down * PER_ANSWERED_BYTE + again * PER_LOST
    towards += overhead.up * turns + overhead.opening_up * who
    sent -= again * (SEGMENT + HEADERS)
    return away / sent - 1, towards / (received - real.cut_off) - 1


def composition(real: Run) -> dict[str, dict[str, float]]:
    """Return what the bytes at the server's interface are, each way, as shares of the messages'.

    As packets and bytes were counted: packets beyond those of the messages are answers.
    """
    if "s" not in real.wire:
        return {}
    received, sent, packets_in, packets_out, again = real.wire["s"]
    arrived = real.clients.upload_bytes.sum()
    ways = {
        "down": (float(real.clients.download_bytes.sum()), sent, packets_out, again),
        "up": (float(arrived), received, packets_in, 0),
    }
    result = {}
    for way, (booked, total, packets, twice) in ways.items():
        full = booked / SEGMENT
        rest = total - HEADERS * packets - booked - SEGMENT * twice
        parts = {"headers": HEADERS * full, "frames": rest, "again": twice * (SEGMENT + HEADERS)}
        parts["answers"] = HEADERS * (packets - full - twice)
        result[way] = {name: size / booked for name, size in parts.items()}
    return result
