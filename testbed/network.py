"""What joins the processes of a real run; the least of it: this machine's own loopback."""

import socket
from typing import Protocol, Self

Counters = dict[str, tuple[int, ...]]
"""By end: bytes received and sent, packets received and sent, segments sent once more."""


class Network(Protocol):
    """A server, `s`, and clients `c0`, `c1`, ... that can reach it."""

    address: str
    """The server's, with a port."""

    @property
    def limited(self) -> bool:
        """Whether clients may only use a share of a core."""

    def group(self, number: int) -> str:
        """Return the group of processes that limits a client."""

    def enter(self, end: str) -> None:
        """Move this process, which has no threads yet, to an end."""

    def counters(self) -> Counters:
        """Return what each end's interface and its TCP have counted."""

    def sent(self) -> int:
        """Return the bytes that the end which this process has entered has sent so far."""


class Loopback:
    """No namespaces and no limits."""

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

    def sent(self) -> int:
        """Return nothing, likewise."""
        return 0
