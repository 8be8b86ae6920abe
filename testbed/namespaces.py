"""A network of one's own: namespaces joined by veth pairs, with rates set by `tc tbf`.

Everything lies in namespaces whose names begin with `PREFIX`; interfaces are born inside them, so
that removing the namespaces removes everything, and nothing of the machine's own is ever touched.
A hub with a bridge joins the server and the clients; each end of each cable limits what leaves it.
"""

import atexit
import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from testbed import quotas
from testbed.commands import Refused, run
from testbed.limits import QUEUE_S, Limit, limit, limit_fairly
from testbed.network import Counters
from testbed.quotas import PREFIX

ROOT = Path(__file__).parents[1]
SERVER = "10.83.0.1"
CLONE_NEWNET = 0x40000000
BURST_SHARE = 0.0025
"""Of a message, which passes at once after a pause at least: where that is less than a busy machine
stalls for, the rate is missed."""
SEND_BYTES, LARGE = 32_768, 1 << 20
"""Of a socket's send buffer: a client's, or what its rate moves in `QUEUE_S`; and the server's."""
LEAF_BYTES = 2 * 1514 + SEND_BYTES
"""Of a client's own queue at the server's links: room for all that the client can have under way,
so that nothing is lost.  What waits there has passed the client's own link already."""


class NoQuotas(Refused):
    """This machine can't give processes shares of a core, or not such shares."""


def _ours() -> list[str]:
    names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.strip()]
    return [name for name in names if name.startswith(PREFIX)]


def check() -> None:
    """Raise `Refused` where no testbed can be."""
    if os.geteuid() != 0:
        raise Refused("the testbed makes network namespaces, for which it must be root")
    for tool in ("ip", "tc", "sysctl"):
        if shutil.which(tool) is None:
            raise Refused(f"the testbed needs `{tool}`: apt-get install iproute2 procps")


class Namespaces:
    """A server and clients, each in a namespace; a context manager.

    One at a time on a machine: a lock that dies with its holder says so.  What an earlier one left
    behind, having been killed, is removed first.

    Args:
        server: bit/s (towards the server, away from it); inf: not limited.
        clients: per client bit/s (towards it, away from it).
        message: bytes of the messages to come.
        queue: of all links "short", or "deep": with room for everything that anybody can have under
            way; or "fair": of the server's links one for each client, served in turn.
        shares: of a core, that each client may use to train; none: as much as there is.
        latencies: one-way, per client, seconds more than the machine's own; none: no more.
    """

    def __init__(
        self,
        server: tuple[float, float],
        clients: Sequence[tuple[float, float]],
        message: int = 0,
        queue: str = "short",
        shares: Sequence[float] = (),
        latencies: Sequence[float] = (),
    ) -> None:
        self._queue, self._shares = queue, shares
        self._burst = BURST_SHARE * message
        self._latencies = {f"c{i}": seconds for i, seconds in enumerate(latencies) if seconds}
        self._delaying: subprocess.Popen[str] | None = None
        self._ends = {"s": server} | {f"c{i}": rates for i, rates in enumerate(clients)}
        self.address = f"{SERVER}:50051"
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        check()
        lock = open(f"/run/{PREFIX}lock", "w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise Refused("another testbed is under way on this machine") from None
        self._lock, self._owner = lock, os.getpid()
        atexit.register(self.close)
        signal.signal(signal.SIGTERM, _as_exit)
        try:
            self._remove()
            self._make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    @property
    def limited(self) -> bool:
        """Whether clients may only use a share of a core."""
        return bool(self._shares)

    def group(self, number: int) -> str:
        """Return the group of processes that limits a client."""
        return f"{PREFIX}c{number}"

    def close(self) -> None:
        """Remove everything; children that were forked remove nothing."""
        if self._lock is None or os.getpid() != self._owner:
            return
        self._remove()
        atexit.unregister(self.close)
        self._lock.close()
        self._lock = None

    def _remove(self) -> None:
        if self._delaying is not None:
            self._delaying.kill()
            self._delaying.communicate()
            self._delaying = None
        for name in _ours():
            for process in run("ip", "netns", "pids", name, check=False).split():
                if int(process) != os.getpid():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(process), signal.SIGKILL)
            run("ip", "netns", "delete", name, check=False)
        quotas.remove(PREFIX)

    def _make(self) -> None:
        for number, share in enumerate(self._shares):
            try:
                quotas.make(self.group(number), share)
            except (OSError, ValueError) as error:
                raise NoQuotas(f"no quotas of CPU (cgroup v1) here: {error}") from None
        hub = f"{PREFIX}hub"
        run("ip", "netns", "add", hub)
        run("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", hub, "link", "set", "bridge", "up")
        for place, end in enumerate(self._ends, start=1):
            run("ip", "netns", "add", PREFIX + end)
            self._join(hub, end, f"10.83.0.{place}/24")
            self._set_sockets(end)
            self._limit(hub, end)
        if self._latencies:
            self._delay(hub)

    def _join(self, hub: str, end: str, address: str) -> None:
        """Lay the cable between an end and the bridge."""
        name = PREFIX + end
        run("ip", "-n", hub, "link", "add", end, "type", "veth", "peer", "eth0", "netns", name)
        for where, device in ((hub, end), (name, "eth0")):
            # Packets as on a real wire: none that the counters or the limiters take for many.
            run("ip", "-n", where, "link", "set", device, "gso_max_segs", "1")
        port = self._delayed(hub, end) if end in self._latencies else end
        run("ip", "-n", hub, "link", "set", port, "master", "bridge", "up")
        run("ip", "-n", name, "address", "add", address, "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")

    def _set_sockets(self, end: str) -> None:
        """Give an end's sockets their congestion control, and buffers to send from."""
        _, away = self._ends[end]
        # What a call that is called off has in the kernel already is sent all the same.
        # Half of it the kernel needs itself, and answers come a way there and back later.
        on_way_s = QUEUE_S + 2 * 4 * self._latencies.get(end, 0.0)
        room = SEND_BYTES if away == float("inf") else max(SEND_BYTES, away * on_way_s / 8)
        buffers = f"4096 {SEND_BYTES} {max(room, LARGE) if end == 's' else room:.0f}"
        for key, value in {"congestion_control": "reno", "wmem": buffers}.items():
            setting = f"net.ipv4.tcp_{key}={value}"
            run("ip", "netns", "exec", PREFIX + end, "sysctl", "-qw", setting)

    def _limit(self, hub: str, end: str) -> None:
        """Limit what leaves either end of a cable."""
        towards, away = self._ends[end]
        devices = ((hub, end, towards, "src"), (PREFIX + end, "eth0", away, "dst"))
        for namespace, device, bps, by in devices:
            to = Limit(bps, self._burst, self._under_way(end))
            if end == "s" and self._queue == "fair":
                limit_fairly(namespace, device, to, len(self._ends) - 1, by)
            else:
                limit(namespace, device, to)

    def _under_way(self, end: str) -> float:
        """Return the bytes that a queue at `end` has to have room for; 0: it may lose packets."""
        if end == "s":
            return 0 if self._queue == "short" else LEAF_BYTES * (len(self._ends) - 1)
        return LARGE if self._queue == "deep" else 0

    def _delayed(self, hub: str, end: str) -> str:
        """Put a cable between `end` and the bridge that `_delay` is to join; return its port."""
        far, port = f"{end}-far", f"{end}-port"
        run("ip", "-n", hub, "link", "add", far, "type", "veth", "peer", "name", port)
        for device in (end, far):
            run("ip", "-n", hub, "link", "set", device, "addrgenmode", "none", "up")
        return port

    def _delay(self, hub: str) -> None:
        """Let packets between the bridge and the clients that are far away take their time."""
        cables = [(str(s), end, f"{end}-far") for end, s in self._latencies.items()]
        program = ("ip", "netns", "exec", hub, sys.executable, "-m", "testbed.delay")
        words = [*program, *chain.from_iterable(cables)]
        pipe = subprocess.PIPE
        self._delaying = subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
        assert self._delaying.stdout is not None
        if not self._delaying.stdout.readline():
            raise Refused("packets can't be delayed here: `python -m testbed.delay` failed")

    def enter(self, end: str) -> None:
        """Move this process, which has no threads yet, to `s` or to `c0`, `c1`, ..."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{PREFIX}{end}") as file:
            if libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def counters(self) -> Counters:
        """Return what each end's interface and its TCP have counted."""
        return {end: self._count(PREFIX + end) for end in self._ends}

    def sent(self) -> int:
        """Return the bytes that the end which this process has entered has sent so far."""
        told = Path("/proc/self/net/dev").read_text().splitlines()
        [counts] = [line.split(":")[1].split() for line in told if "eth0:" in line]
        return int(counts[8])

    def _count(self, name: str) -> tuple[int, ...]:
        told = run("ip", "-n", name, "-j", "-s", "link", "show", "dev", "eth0")
        link = json.loads(told)[0]["stats64"]
        snmp = run("ip", "netns", "exec", name, "cat", "/proc/net/snmp").splitlines()
        names, values = [line.split() for line in snmp if line.startswith("Tcp:")]
        tcp = dict(zip(names, values, strict=True))
        ways = [link[way][what] for what in ("bytes", "packets") for way in ("rx", "tx")]
        return (*(int(count) for count in ways), int(tcp["RetransSegs"]))


def _as_exit(number: int, _: object) -> None:
    raise SystemExit(128 + number)
