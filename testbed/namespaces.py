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
import socket
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Self

from testbed import quotas
from testbed.quotas import PREFIX

SERVER = "10.83.0.1"
CLONE_NEWNET = 0x40000000
QUEUE_S = 0.04
"""What a rate limiter's queue holds, in seconds at its rate; 64 kB at least."""
BURST_S = 0.003
"""What passes at once after a pause, in seconds at the rate; two packets at least, and no less than
`BURST_SHARE` of a message: where it is less than a busy machine stalls for, the rate is missed."""
BURST_SHARE = 0.0025
SEND_BYTES, LARGE = 32_768, 1 << 20
"""Of a socket's send buffer: a client's, or what its rate moves in `QUEUE_S`; and the server's."""
LEAF_BYTES = 2 * 1514 + SEND_BYTES
"""Of a client's own queue at the server's links: room for all that the client can have under way,
so that nothing is lost.  What waits there has passed the client's own link already."""


Counters = dict[str, tuple[int, ...]]
"""By end: bytes received and sent, packets received and sent, segments sent once more."""


class Refused(RuntimeError):
    """This machine can't have a testbed, or has one already."""


class NoQuotas(Refused):
    """This machine can't give processes shares of a core, or not such shares."""


def _run(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if check and done.returncode:
        raise Refused(f"`{' '.join(words)}` failed: {done.stderr.strip()}")
    return done.stdout


def _ours() -> list[str]:
    names = [line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line.strip()]
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
        queue: of the server's links: for all, as short as any link's ("short"), or with room for
            everything that everybody can have under way ("deep"), or one for each client, served in
            turn ("fair").
        shares: of a core, that each client may use to train; none: as much as there is.
    """

    def __init__(
        self,
        server: tuple[float, float],
        clients: Sequence[tuple[float, float]],
        message: int = 0,
        queue: str = "short",
        shares: Sequence[float] = (),
    ) -> None:
        self._queue, self._shares = queue, shares
        self._burst = max(3200, BURST_SHARE * message)
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
        for name in _ours():
            for process in _run("ip", "netns", "pids", name, check=False).split():
                if int(process) != os.getpid():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(process), signal.SIGKILL)
            _run("ip", "netns", "delete", name, check=False)
        quotas.remove(PREFIX)

    def _make(self) -> None:
        for number, share in enumerate(self._shares):
            try:
                quotas.make(self.group(number), share)
            except (OSError, ValueError) as error:
                raise NoQuotas(f"no quotas of CPU (cgroup v1) here: {error}") from None
        hub = f"{PREFIX}hub"
        _run("ip", "netns", "add", hub)
        _run("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", hub, "link", "set", "bridge", "up")
        for place, (end, (towards, away)) in enumerate(self._ends.items(), start=1):
            name = PREFIX + end
            _run("ip", "netns", "add", name)
            _run("ip", "-n", hub, "link", "add", end, "type", "veth", "peer", "eth0", "netns", name)
            for where, device in ((hub, end), (name, "eth0")):
                # Packets as on a real wire: none that the counters or the limiters take for many.
                _run("ip", "-n", where, "link", "set", device, "gso_max_segs", "1")
            _run("ip", "-n", hub, "link", "set", end, "master", "bridge", "up")
            _run("ip", "-n", name, "address", "add", f"10.83.0.{place}/24", "dev", "eth0")
            _run("ip", "-n", name, "link", "set", "eth0", "up")
            _run("ip", "-n", name, "link", "set", "lo", "up")
            # What a call that is called off has in the kernel already is sent all the same.
            room = SEND_BYTES if away == float("inf") else max(SEND_BYTES, away * QUEUE_S / 8)
            buffers = f"4096 {SEND_BYTES} {max(room, LARGE) if end == 's' else room:.0f}"
            for key, value in {"congestion_control": "reno", "wmem": buffers}.items():
                setting = f"net.ipv4.tcp_{key}={value}"
                _run("ip", "netns", "exec", name, "sysctl", "-qw", setting)
            sharing = len(self._ends) - 1 if end == "s" and self._queue != "short" else 0
            fair = self._queue == "fair" and end == "s"
            _limit(hub, end, towards, self._burst, sharing, "src" if fair else "")
            _limit(name, "eth0", away, self._burst, sharing, "dst" if fair else "")

    def enter(self, end: str) -> None:
        """Move this process, which has no threads yet, to `s` or to `c0`, `c1`, ..."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{PREFIX}{end}") as file:
            if libc.setns(file.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")

    def counters(self) -> Counters:
        """Return what each end's interface and its TCP have counted."""
        return {end: self._count(PREFIX + end) for end in self._ends}

    def _count(self, name: str) -> tuple[int, ...]:
        told = _run("ip", "-n", name, "-j", "-s", "link", "show", "dev", "eth0")
        link = json.loads(told)[0]["stats64"]
        snmp = _run("ip", "netns", "exec", name, "cat", "/proc/net/snmp").splitlines()
        names, values = [line.split() for line in snmp if line.startswith("Tcp:")]
        tcp = dict(zip(names, values, strict=True))
        ways = [link[way][what] for what in ("bytes", "packets") for way in ("rx", "tx")]
        return (*(int(count) for count in ways), int(tcp["RetransSegs"]))


class Loopback:
    """No namespaces and no limits: this machine's own loopback."""

    limited = False

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def group(self, number: int) -> str:
        """Return nothing: nobody is limited."""
        return ""

    def enter(self, end: str) -> None:
        """Stay."""

    def counters(self) -> Counters:
        """Return nothing: the loopback carries everybody's bytes."""
        return {}


def _limit(
    namespace: str, device: str, bps: float, least: float, sharing: int, client: str
) -> None:
    """Limit what leaves `device`, with room for `sharing` clients (0: what a queue holds anyway).

    With `client`, which address tells whose a packet is, they share it fairly.
    """
    if bps == float("inf"):
        return
    burst = max(least, bps * BURST_S / 8)
    queue = max(64_000, bps * QUEUE_S / 8, sharing * LEAF_BYTES)

    def add(what: str, *words: str) -> None:
        _run("tc", "-n", namespace, what, "add", "dev", device, *words)

    if not client:
        rate = ("rate", f"{bps:.0f}bit", "burst", f"{burst:.0f}", "limit", f"{queue:.0f}")
        add("qdisc", "root", "tbf", *rate)
        return
    most = ("ceil", f"{bps:.0f}bit", "cburst", f"{burst:.0f}", "quantum", "1514")
    add("qdisc", "root", "handle", "1:", "htb", "default", "20")
    add(
        "class",
        "parent",
        "1:",
        "classid",
        "1:1",
        "htb",
        "rate",
        f"{bps:.0f}bit",
        *most,
        "burst",
        f"{burst:.0f}",
    )
    for number in range(2, sharing + 2):
        leaf, share = f"1:{number:x}0", ("htb", "rate", f"{bps / sharing:.0f}bit", *most)
        # Every client's burst comes on top of the link's: a packet has to do.
        add("class", "parent", "1:1", "classid", leaf, *share, "burst", "1600")
        add("qdisc", "parent", leaf, "bfifo", "limit", f"{queue / sharing:.0f}")
        match = ("u32", "match", "ip", client, f"10.83.0.{number}", "flowid", leaf)
        add("filter", "parent", "1:", "protocol", "ip", "prio", "1", *match)


def _as_exit(number: int, _: object) -> None:
    raise SystemExit(128 + number)
