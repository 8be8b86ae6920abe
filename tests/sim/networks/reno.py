"""A connection followed packet by packet: Reno with selective answers, a queue and a link.

Time is counted in packets that the link moves.  A packet is taken for lost when one that was sent
four later has come, and comes again; until then as many go as RFC 6937 lets go.
"""

import math
from collections import deque
from itertools import takewhile


class Reno:
    """A transfer.

    Args:
        link: packets that it moves on a way there and back.
        queue: packets that can wait before it while one moves.
        window: packets at first.
        threshold: packets, where slow start ends.

    Attributes:
        last: when the link has moved the last packet.
        lost: packets.
    """

    def __init__(self, link: int, queue: int, window: int, threshold: float) -> None:
        self._link, self._queue = link, queue
        self.window, self.threshold = float(window), threshold
        self.last = self.lost = self._now = self._number = self._fresh = 0
        self._moved: deque[int] = deque()  # when those that wait will have
        self._answers: deque[tuple[int, int, int]] = deque()  # when, to which sending, which packet
        self._under_way: dict[int, int] = {}  # which sending of which packet, in this order
        self._again: deque[int] = deque()
        self._recovers = -1  # until all packets before this one have come
        self._flight, self._delivered, self._sent = 0.0, 0, 0  # since a loss

    def move(self, packets: int) -> None:
        """Move so many packets."""
        came, before = set[int](), 0
        while len(came) < packets:
            self._send_all(packets)
            if not self._answers:  # nothing tells of them any more
                self._again.extend(self._under_way)
                self._under_way.clear()
                continue
            self._now, number, packet = self._answers.popleft()
            self._under_way.pop(packet, None)
            came.add(packet)
            while before in came:
                before += 1
            self._answered(self._lose(number - 3), before)

    def _lose(self, until: int) -> bool:
        """Take those for lost that were sent before, and have not come; return whether any was."""
        late = takewhile(lambda item: item[1] < until, self._under_way.items())
        gone = [packet for packet, _ in late]
        for packet in gone:
            del self._under_way[packet]
        self._again.extend(gone)
        return bool(gone)

    def _send_all(self, packets: int) -> None:
        while len(self._under_way) < int(self.window) and (self._again or self._fresh < packets):
            if self._again:
                self._send(self._again.popleft())
            else:
                self._send(self._fresh)
                self._fresh += 1

    def _send(self, packet: int) -> None:
        self._number, self._sent = self._number + 1, self._sent + 1
        self._under_way[packet] = self._number
        while self._moved and self._moved[0] <= self._now:
            self._moved.popleft()
        if len(self._moved) > self._queue:
            self.lost += 1
            return
        self.last = max(self.last, self._now) + 1
        self._moved.append(self.last)
        self._answers.append((self.last + self._link - 1, self._number, packet))

    def _answered(self, loss: bool, before: int) -> None:
        if 0 <= self._recovers <= before:
            self._recovers, self.window = -1, self.threshold
        elif self._recovers < 0 and loss:
            self._recovers, self._flight, self.threshold = self._fresh, self.window, self.window / 2
            self._delivered = self._sent = 0
        elif self._recovers < 0 and self.window < self.threshold:
            self.window = min(self.window + 1, self.threshold)
        elif self._recovers < 0:
            self.window += 1 / self.window
        if self._recovers >= 0:
            self._delivered += 1
            under_way = len(self._under_way)
            if under_way > self.threshold:
                may = math.ceil(self._delivered * self.threshold / self._flight) - self._sent
            else:
                may = int(min(self.threshold - under_way, max(self._delivered - self._sent, 1) + 1))
            self.window = under_way + max(may, 0)
