"""Bytes booked, and bytes that crossed the server's interface."""

from testbed.journals import Run
from testbed.namespaces import SEND_BYTES

SEGMENT, HEADERS = 1448, 66
"""Bytes of payload in a full packet, and of Ethernet, IP and TCP (with timestamps) before them."""
INITIAL_WINDOW = 10 * SEGMENT
"""What TCP sends before it waits for an answer (RFC 6928), on a connection that is new or idle."""
PER_BYTE = (1 + HEADERS / SEGMENT) * (1 + 9 / 16384) - 1
"""Added to every byte: headers of packets, and of HTTP/2's frames of 16 KiB."""
PER_ANSWERED_BYTE = HEADERS / (2 * SEGMENT)
"""Every second packet is acknowledged (RFC 5681, 4.2): bytes that go the other way."""
PER_LOST = 5.5 * HEADERS
"""While a packet is missing every other one is acknowledged at once (RFC 5681, 4.2): bytes that go
the other way for each that is sent once more; as counted in the homogeneous scenario."""
PER_MESSAGE = 400
"""Bytes of HTTP/2's and gRPC's headers and of the JSON before the numbers, of a participation each
way; as counted in the homogeneous scenario."""
FLOWERS = {"down": 4900, "up": 9300}
"""The same for Flower, whose messages are made of objects that are announced, asked for and sent
one by one; as counted with a model of 805 numbers (hidden: [1] in the scenario `flower`)."""


def wire_errors(real: Run, simulated: Run, overhead: float) -> tuple[float, float]:
    """Return the relative errors of the bytes away from the server and towards it.

    What TCP counts as sent once more is left out: the links lose packets where a queue is full,
    which is nothing that a simulation of whole transfers knows of.
    """
    if "s" not in real.wire:
        return float("nan"), float("nan")
    received, sent, _, _, again = real.wire["s"]
    clients = simulated.clients
    down, up = float(clients.download_bytes.sum()), float(clients.upload_bytes.sum())
    messages = FLOWERS if real.by_flower else dict.fromkeys(FLOWERS, PER_MESSAGE)
    away = down * (1 + overhead) + up * PER_ANSWERED_BYTE + messages["down"] * len(clients)
    broken_off = int(clients.upload_bytes.between(1, clients.upload_bytes.max() - 1).sum())
    up += SEND_BYTES * broken_off  # what the kernel has already is sent all the same
    towards = up * (1 + overhead) + down * PER_ANSWERED_BYTE + messages["up"] * len(clients)
    towards += again * PER_LOST
    return away / (sent - again * (SEGMENT + HEADERS)) - 1, towards / received - 1


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
