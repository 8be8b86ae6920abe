"""What ends a command from outside: Ctrl-C, and the signals that are treated alike."""

import signal
from types import FrameType

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: 128 + the signal's number, as shells have it."""

_OTHERS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""By which schedulers, containers and terminals that close end what runs in them."""


class Interruptions:
    """SIGTERM and SIGHUP interrupt this process as Ctrl-C does, unless it was told to ignore them.

    Its main thread makes one, before all else.
    """

    def __init__(self) -> None:
        self._last: int = signal.SIGINT
        self._heard = [number for number in _OTHERS if signal.getsignal(number) == signal.SIG_DFL]
        for number in self._heard:
            signal.signal(number, self._interrupt)

    def ended(self, code: int) -> int:
        """Return the exit code of a command that is over: `code`, or that of the signal."""
        for number in self._heard:
            signal.signal(number, signal.SIG_DFL)
        if code != INTERRUPTED:
            return code
        for number in (signal.SIGINT, *self._heard):
            signal.signal(number, signal.SIG_IGN)  # all is said: who asks again is leaving
        # Where it came in code that is kept as text, such as a library's while it is imported,
        # `python -m` would end as if by Ctrl-C, whatever we return, until it has run other such.
        exec("")
        return 128 + self._last

    def _interrupt(self, number: int, _: FrameType | None) -> None:
        self._last = number
        raise KeyboardInterrupt
