"""What a connection loses before it is at its link's rate: TCP's slow start.

A connection that is new, or was idle, sends a window of packets and waits for the first answer to
them; each answer lets two more packets go, so that the next window is twice as large, until one
lasts as long as an answer takes to come (RFC 5681, 3.1; RFC 6928: 10 packets at first).  Until then
the link idles after each window, and these waits are what a transfer takes longer (Kurose and Ross,
"Computer Networking", on the latency of static and dynamic congestion windows).
"""

PACKET = 1448
"""Bytes that a full packet carries (Ethernet, TCP with timestamps)."""


def waits_s(size: float, bps: float, latency_s: float, window: float) -> float:
    """Return how long a transfer waits for answers until it never has to any more, seconds.

    No packet is lost; the receiver's window and the sender's buffer are as large as it takes.

    Args:
        size: bytes.
        bps: at which the link moves them (inf: unlimited).
        latency_s: one-way; half of what an answer takes.
        window: bytes at first.
    """
    waited_s, sent = 0.0, window
    while sent < size:
        idle_s = idles_s(window, bps, latency_s)
        if not idle_s:
            break
        waited_s += idle_s
        window *= 2
        sent += window
    return waited_s


def idles_s(window: float, bps: float, latency_s: float) -> float:
    """Return how long a link idles after a window of so many bytes until its first answer, seconds.

    Args:
        window: bytes.
        bps: of the link (inf: unlimited).
        latency_s: one-way.
    """
    meanwhile_s = 8 * max(window - PACKET, 0) / bps  # from the first packet's end to the last's
    return max(2 * latency_s - meanwhile_s, 0.0)
