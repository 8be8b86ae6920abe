"""When devices end what a log says they were sent out for: flows, sessions, joules, step by step.

Written from docs/formulas.md, and as plainly as can be: at each instant all rates are filled anew.
It knows nothing of simfl but when devices were sent out, when they were called off, and after which
share of it a training fails.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

INF = math.inf
PACKET = 1448.0
Way = Literal["download", "upload"]
POWER = {"download": 2.0, "compute": 5.0, "upload": 3.0}
IDLE = 1.0
GOLDEN = (math.sqrt(5) - 1) / 2
ENDED, CALLED_OFF, LEAVES = 0, 1, 2  # in this order at one instant; looks come after ENDED


@dataclass(frozen=True)
class Rates:
    """Factors of a link, each from its instant on; again after the period (inf: never)."""

    rows: Sequence[tuple[float, float]]
    period_s: float

    def at(self, now_s: float) -> float:
        """Return the factor now."""
        return [factor for start, factor in self.rows if start <= now_s % self.period_s + 1e-9][-1]

    def next_s(self, now_s: float) -> float:
        """Return when it next changes."""
        past = math.floor(now_s / self.period_s + 1e-12)
        cycles_s = (
            [past * self.period_s, (past + 1) * self.period_s] if past else [0, self.period_s]
        )
        starts = [begun_s + start for begun_s in cycles_s for start, _ in self.rows]
        return min((start for start in starts if start > now_s + 1e-9), default=INF)


@dataclass(frozen=True)
class Network:
    """What is shared: bit/s of the server's two links and of cells', how they vary, what is added.

    With `polling` so many seconds pass between two questions of a device and two looks of a server.
    """

    server: Mapping[Way, float] = field(default_factory=dict)
    cells: Mapping[str, Mapping[Way, float]] = field(default_factory=dict)
    rates: Rates | None = None
    cell_rates: Mapping[str, Rates] = field(default_factory=dict)
    overhead: float = 0.0
    message_overhead: float = 0.0
    window: float = 0.0
    polling: float = 0.0


@dataclass
class Battery:
    """What a device has left, joules; it is plugged in for a while in each period."""

    capacity_j: float
    level_j: float
    minimum_j: float
    charge_w: float
    plugged: tuple[float, float]
    period_s: float
    draw_w: float = IDLE
    at_s: float = 0.0

    def draw(self, now_s: float, watts: float) -> None:
        """Let so much be drawn from now on."""
        for until_s, watts_in in self._stretches(now_s):
            self.level_j = self._after(self.level_j, watts_in, until_s - self.at_s)
            self.at_s = until_s
        self.draw_w = watts

    def empties_s(self) -> float:
        """Return when it is empty if that goes on."""
        for at_s, until_s, level_j, watts in self._course(20):
            if level_j + watts * (until_s - at_s) <= 0:
                return at_s - level_j / watts
        return INF

    def charged(self) -> Iterator[tuple[float, float]]:
        """Yield from when and until when it has its minimum, in order; some follow at once."""
        for at_s, until_s, level_j, watts in self._course(200):
            crosses_s = at_s + (self.minimum_j - level_j) / watts if watts else INF
            if level_j >= self.minimum_j * (1 - 1e-9):
                yield at_s, min(until_s, crosses_s) if watts < 0 else until_s
            elif at_s < crosses_s <= until_s:
                yield crosses_s, until_s

    def _course(self, periods: int) -> Iterator[tuple[float, float, float, float]]:
        """Yield stretches of what comes: from when to when, joules at first, watts."""
        level_j, at_s = self.level_j, self.at_s
        for until_s, watts in self._stretches(self.at_s + periods * self.period_s):
            yield at_s, until_s, level_j, watts
            level_j, at_s = self._after(level_j, watts, until_s - at_s), until_s

    def _after(self, level_j: float, watts: float, lasts_s: float) -> float:
        return min(max(level_j + watts * lasts_s, 0.0), self.capacity_j)

    def _stretches(self, until_s: float) -> Iterator[tuple[float, float]]:
        """Yield the ends of stretches from now on, and the watts that come in."""
        at_s, (start, end) = self.at_s, self.plugged
        while at_s < until_s:
            begun = math.floor(at_s / self.period_s + 1e-12) * self.period_s
            edges = [begun + start, begun + end, begun + self.period_s]
            charges = edges[0] - 1e-9 <= at_s < edges[1] - 1e-9
            at_s = min([edge for edge in edges if edge > at_s + 1e-9] + [until_s])
            yield min(at_s, until_s), self.charge_w * charges - self.draw_w


@dataclass(frozen=True)
class Phone:
    """One device.

    Its sessions begin again after `period_s` (None: always online); it may be offline while its
    battery is not plugged in.  Its samples come in mini-batches, in all of its epochs.
    """

    samples_per_s: float
    bps: Mapping[Way, float]
    latency_s: float
    cell: str | None
    on_offline: str
    sessions: Sequence[tuple[float, float]] | None
    period_s: float = 1.0
    battery: Battery | None = None
    only_plugged: bool = False
    failures: float = 0.0
    batches: Sequence[int] = ()

    @property
    def _needs(self) -> Iterator[tuple[Sequence[tuple[float, float]], float]]:
        """Yield windows, and after how long they come again: it is online in one of each."""
        if self.sessions is not None:
            yield self.sessions, self.period_s
        if self.battery and self.only_plugged:
            yield [self.battery.plugged], self.battery.period_s

    def _windows(self, now_s: float) -> Iterator[list[tuple[float, float]]]:
        """Yield when each need is met, from the period before to the one after."""
        for windows, period_s in self._needs:
            begun = math.floor(now_s / period_s) * period_s
            yield [(begun + k * period_s + start, begun + k * period_s + end)
                   for k in (-1, 0, 1) for start, end in windows]  # fmt: skip

    def online(self, now_s: float) -> bool:
        """Return whether it is online, as far as its battery lasts."""
        return all(
            any(start - 1e-9 <= now_s < end - 1e-9 for start, end in windows)
            for windows in self._windows(now_s)
        )

    def leaves_s(self, now_s: float) -> float:
        """Return when it next leaves."""
        ends = [end for windows in self._windows(now_s) for _, end in windows]
        return min((end for end in ends if end > now_s), default=INF)

    def returns_s(self, now_s: float) -> float:
        """Return when it is next back."""
        for first_s, last_s in self.battery.charged() if self.battery else [(now_s, INF)]:
            at_s = first_s
            while at_s < last_s and not self.online(at_s):
                starts = [start for windows in self._windows(at_s) for start, _ in windows]
                at_s = min(start for start in starts if start > at_s)
            if at_s < last_s:
                return at_s
        return INF


@dataclass(eq=False)
class Task:
    """What a device was sent out for.

    Attributes:
        ends_s: when each of its phases ended.
        moved: whole bytes, each way.
        joules: at work.
        outcome: "" while it is under way.
        over_s: when it was over.
        leaves_s: when the device leaves, or its battery is empty.
        session_s: when it leaves, however full that is.
        fails: whether its training fails, once all that is left is computed.
        failed: whether it has.
        upload: bytes that it is to upload.
    """

    device: int
    phase: str = "download"
    left: float = 0.0
    since_s: float = 0.0
    units_done: float = 0.0
    ends_s: dict[str, float] = field(default_factory=dict)
    moved: dict[str, int] = field(default_factory=lambda: {"download": 0, "upload": 0})
    joules: float = 0.0
    outcome: str = ""
    over_s: float = INF
    leaves_s: float = INF
    session_s: float = INF
    fails: bool = False
    failed: bool = False
    away: bool = False
    update: "_Update | None" = None
    upload: int = 0


@dataclass(eq=False)
class _Update:
    """An upload that the server has to look for, unless it is broken off."""

    task: Task
    wanted: bool = True


@dataclass(eq=False)
class _Timer:
    at_s: float
    rank: int
    task: Task
    call: Callable[[], None]


@dataclass(eq=False)
class _Flow:
    task: Task
    way: Way
    bits: float
    left: float


class Clock:
    """Devices at work.

    Args:
        phones: by number.
        network: their links.
        size: bytes of a model and of an update.
        breaks_off: draws after which share of it the training that a device begins fails, if so.
    """

    def __init__(
        self,
        phones: Sequence[Phone],
        network: Network,
        size: int,
        breaks_off: Callable[[int], float | None],
    ) -> None:
        self._phones, self._network, self._size = phones, network, size
        self._breaks_off = breaks_off
        self._timers: list[_Timer] = []
        self._flows: dict[int, _Flow] = {}
        self._sent_s: dict[int, float] = {}  # when the last update of each had come
        self._looked_s = 0.0
        self._coming: list[_Update] = []  # what the next look finds
        self._found: list[_Update] = []  # what the present one waits for, and has
        self._asks_again = 0, 0.0, INF  # for which of them, after how many seconds, when
        self.now_s = 0.0

    def send(self, device: int, called_off_s: float, upload: int | None = None) -> Task:
        """Send a device to work now; it is called off at an instant (inf: never).

        It uploads so many bytes, as many as it downloads unless they are given.
        """
        task, battery = Task(device), self._phones[device].battery
        task.upload = self._size if upload is None else upload
        if not any(update.wanted for update in self._coming):
            self._looked_s = self.now_s
        if battery:
            battery.draw(self.now_s, IDLE)
            assert battery.level_j >= battery.minimum_j * (1 - 1e-6)
        assert self._phones[device].online(self.now_s)
        if called_off_s < INF:
            self._at(called_off_s, CALLED_OFF, task, lambda: self._call_off(task))
        self._stay(task)
        self._move(task, "download", self._size)
        return task

    def run(self, until_s: float) -> None:
        """Let everything happen up to an instant, and at it."""
        while True:
            rates = self._rates()
            ends = [self.now_s + flow.left / rates[device] for device, flow in self._flows.items()]
            every = [self._network.rates, *self._network.cell_rates.values()]
            changes = [factors.next_s(self.now_s) for factors in every if factors]
            if until_s < (looks_s := self._looks_s()) <= until_s + 1e-9:  # but for rounding
                until_s = looks_s
            then_s = min(
                [*ends, *changes, *(timer.at_s for timer in self._timers), until_s, looks_s]
            )
            for device, flow in self._flows.items():
                if rates[device] < INF:
                    flow.left -= rates[device] * (then_s - self.now_s)
            self.now_s = then_s
            done = [one for one in self._flows.values()
                    if rates[one.task.device] == INF or one.left <= 1e-9 * one.bits]  # fmt: skip
            due = [timer for timer in self._timers if timer.at_s <= then_s + 1e-12]
            if done:
                self._landed(min(done, key=lambda flow: flow.task.device))
            elif self._looks_s() <= then_s and all(timer.rank > ENDED for timer in due):
                self._look()
            elif due:
                first = min(due, key=lambda timer: timer.rank)
                self._timers.remove(first)
                first.call()
            elif then_s >= until_s:
                return

    def _at(self, at_s: float, rank: int, task: Task, call: Callable[[], None]) -> None:
        self._timers.append(_Timer(at_s, rank, task, call))

    def _rates(self) -> dict[int, float]:
        """Raise all rates together, and freeze those that a full link holds back."""
        network = self._network
        factor = network.rates.at(self.now_s) if network.rates else 1.0
        links: list[tuple[float, set[int]]] = []
        for way in ("download", "upload"):
            users = {device for device, flow in self._flows.items() if flow.way == way}
            links.append((network.server.get(way, INF) * factor, users))
            for name, cell in network.cells.items():
                mine = {device for device in users if self._phones[device].cell == name}
                varies = network.cell_rates.get(name)
                links.append(
                    (cell.get(way, INF) * (varies.at(self.now_s) if varies else 1.0), mine)
                )
            links += [(self._phones[device].bps[way], {device}) for device in users]
        rates, rising = dict.fromkeys(self._flows, 0.0), set(self._flows)
        while rising:
            room = [((bps - sum(rates[i] for i in users)) / len(users & rising), users)
                    for bps, users in links if users & rising]  # fmt: skip
            step = min(more for more, _ in room)
            for device in rising:
                rates[device] += step
            full = [users for more, users in room if more <= step * (1 + 1e-12)]
            rising = rising.difference(*full)
        return rates

    # -- who asks, and who looks

    def _next_s(self, once_s: float) -> float:
        """Return the next instant, now at the earliest, that is whole intervals after `once_s`."""
        every_s = self._network.polling
        return once_s + max(math.ceil((self.now_s - once_s) / every_s - 1e-9), 0) * every_s

    def _looks_s(self) -> float:
        """Return when the server looks next for updates that there are."""
        if self._found:
            return self._asks_again[2]
        return self._next_s(self._looked_s) if self._coming else INF

    def _look(self) -> None:
        """Wait for each update that is found, one after the other; then all of them count."""
        if not self._found:
            self._found, self._coming = self._coming, []
            self._asks_again = 0, 0.0, INF
        place, before_s, _ = self._asks_again
        while place < len(self._found):
            update = self._found[place]
            if update.wanted and update.task.phase == "upload":
                after_s = min(2 * before_s, 10.0) or 1.0
                self._asks_again = place, after_s, self.now_s + after_s
                return
            place, before_s = place + 1, 0.0
        found, self._found = self._found, []
        self._looked_s = self.now_s + self._network.polling
        for update in found:
            if update.wanted:
                self._spend(update.task)
                update.task.ends_s["upload"] = self.now_s
                self._over(update.task, "arrived")

    # -- one device

    def _stay(self, task: Task) -> None:
        task.session_s = self._phones[task.device].leaves_s(self.now_s)
        if self._phones[task.device].battery:
            return
        task.leaves_s = task.session_s
        if task.leaves_s < INF:
            self._at(task.leaves_s, LEAVES, task, lambda: self._leave(task))

    def _begin(self, task: Task, phase: str, left: float) -> None:
        task.phase, task.left, task.since_s = phase, left, self.now_s
        if self._phones[task.device].battery:
            self._feed(task, POWER.get(phase, IDLE))
            if task.leaves_s < INF:
                self._at(task.leaves_s, LEAVES, task, lambda: self._leave(task))

    def _feed(self, task: Task, watts: float) -> None:
        """Let the battery feed something else; nobody knows any more when it is empty."""
        if battery := self._phones[task.device].battery:
            battery.draw(self.now_s, watts)
            task.leaves_s = min(task.session_s, battery.empties_s())
            self._timers = [timer for timer in self._timers
                            if timer.task is not task or timer.rank != LEAVES]  # fmt: skip

    def _move(self, task: Task, way: Way, size: float) -> None:
        network, phone = self._network, self._phones[task.device]
        if not network.polling:
            self._transfer(task, way, size)
        elif way == "download":
            self._begin(task, "ask", size)
            first_s = task.device * GOLDEN % 1 * network.polling
            asks_s = self._next_s(self._sent_s.get(task.device, first_s))
            self._at(asks_s, ENDED, task, lambda: self._asked(task, size))
        else:
            announced_s = self.now_s + phone.latency_s
            self._transfer(task, way, size)
            task.update = update = _Update(task)
            self._at(announced_s, ENDED, task, lambda: self._coming.append(update))

    def _asked(self, task: Task, size: float) -> None:
        self._spend(task)
        self._transfer(task, "download", size)

    def _transfer(self, task: Task, way: Way, size: float) -> None:
        self._begin(task, way, size)
        network, phone = self._network, self._phones[task.device]
        added, turn_s = 1 + network.overhead, 2 * phone.latency_s
        bits = 8 * (size * added + network.message_overhead)
        wait_s, window = phone.latency_s, network.window
        while window and 2 * window - network.window < size + network.message_overhead / added:
            wait_s += max(turn_s - 8 * max(window - PACKET, 0.0) * added / phone.bps[way], 0.0)
            window *= 2

        def flow() -> None:
            self._flows[task.device] = _Flow(task, way, bits, bits)

        self._at(self.now_s + wait_s, ENDED, task, flow)

    def _landed(self, flow: _Flow) -> None:
        task = flow.task
        del self._flows[task.device]
        self._spend(task)
        task.moved[flow.way] += int(task.left)
        if flow.way == "upload" and self._network.polling:
            self._sent_s[task.device] = self.now_s
            self._begin(task, "look", 0.0)
            return
        task.ends_s[flow.way] = self.now_s
        if flow.way == "download":
            self._train(task)
        else:
            self._over(task, "arrived")

    def _train(self, task: Task) -> None:
        units, share = float(sum(self._phones[task.device].batches)), self._breaks_off(task.device)
        task.fails = share is not None
        self._compute(task, units if share is None else units * share)

    def _compute(self, task: Task, units: float) -> None:
        self._begin(task, "compute", units)
        ends_s = self.now_s + units / self._phones[task.device].samples_per_s
        self._at(ends_s, ENDED, task, lambda: self._computed(task, spent=True))

    def _computed(self, task: Task, spent: bool) -> None:
        if spent:
            self._spend(task)
            if task.fails:
                task.failed = True
                self._over(task, "offline")
                return
        task.ends_s["compute"] = self.now_s
        self._move(task, "upload", task.upload)

    def _spend(self, task: Task) -> None:
        until_s = self.now_s
        if task.phase == "look":
            until_s = max(min(until_s, task.leaves_s), task.since_s)
        task.joules += POWER.get(task.phase, IDLE) * (until_s - task.since_s)

    def _cut(self, task: Task) -> float:
        """Stop what the task is at; return what it has done of it, whole bytes or samples."""
        self._timers = [timer for timer in self._timers if timer.task is not task]
        self._spend(task)
        if task.phase == "compute":
            rate = self._phones[task.device].samples_per_s
            done = min(task.left, (self.now_s - task.since_s) * rate)
            task.units_done += done
            return done
        if task.update:
            task.update.wanted = False
        if task.phase in ("ask", "look"):
            return 0.0
        flow = self._flows.pop(task.device, None)
        moved = int(task.left * (1 - flow.left / flow.bits) + 1e-6) if flow else 0
        task.moved[task.phase] += moved
        return moved

    def _leave(self, task: Task) -> None:
        if task.phase == "look":  # all of it has left the device
            return
        called_off = [timer for timer in self._timers
                      if timer.task is task and timer.rank == CALLED_OFF]  # fmt: skip
        phone, phase, done = self._phones[task.device], task.phase, self._cut(task)
        how = phone.on_offline
        salvaged = how == "salvage" and phase == "compute" and task.units_done >= phone.batches[0]
        self._feed(task, IDLE)
        back_s = phone.returns_s(self.now_s)
        keeps = how == "pause" or salvaged or (how == "salvage" and phase == "upload")
        if not keeps or back_s == INF:
            self._over(task, "offline")
            return
        self._timers += called_off
        task.away = True

        def back() -> None:
            task.away = False
            self._stay(task)
            if salvaged:
                self._computed(task, spent=False)
            elif phase == "compute":
                self._compute(task, task.left - done)
            else:
                self._move(task, "upload" if phase == "upload" else "download", task.left - done)

        self._at(back_s, ENDED, task, back)

    def _call_off(self, task: Task) -> None:
        if task.away:
            self._timers = [timer for timer in self._timers if timer.task is not task]
        else:
            self._cut(task)
        self._over(task, "late")

    def _over(self, task: Task, outcome: str) -> None:
        self._feed(task, IDLE)
        self._timers = [timer for timer in self._timers if timer.task is not task]
        task.outcome, task.over_s = outcome, self.now_s
