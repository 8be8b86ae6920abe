"""What ends a command from outside: Ctrl-C, and the signals that are treated alike."""

import signal
from types import FrameType

INTERRUPTED = 130
"""The exit code of a command that Ctrl-C ended: 128 + the signal's number, as shells have it."""

_OTHERS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""By which schedulers, containers and terminals that close end what runs in them."""

_UNBROKEN = ("numpy", "torch")
"""What can't be imported by halves: an exception in PyTorch's C++ aborts the process, and NumPy's
refuses a second try, which is an error of another kind."""
AGAIN_S = 0.05
"""Until it is looked again whether such an import is over."""


class Interruptions:
    """SIGTERM and SIGHUP interrupt this process as Ctrl-C does, unless it was told to ignore them.

    Either waits until NumPy or PyTorch, if one is just being imported, is; a second one does not.
    Its main thread makes one, before all else.
    """

    def __init__(self) -> None:
        self._last: int = signal.SIGINT
        self._waits = False
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, *_OTHERS)}
        usual = (signal.SIG_DFL, signal.default_int_handler)
        self._before = {number: own for number, own in before.items() if own in usual}
        for number in self._before:
            signal.signal(number, self._interrupt)

    def ended(self, code: int) -> int:
        """Return the exit code of a command that is over: `code`, or that of the signal."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if code != INTERRUPTED:
            return code
        for number in (signal.SIGINT, *self._before):
            signal.signal(number, signal.SIG_IGN)  # all is said: who asks again is leaving
        # Where it came in code that is kept as text, such as a library's while it is imported,
        # `python -m` would end as if by Ctrl-C, whatever we return, until it has run other such.
        exec("")
        return 128 + self._last

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._last = number
        if _imports(frame) and not self._waits:
            self._waits = True
            self._look_later()
            return
        self._stop()

    def _look_again(self, _: int, frame: FrameType | None) -> None:
        if _imports(frame):
            self._look_later()
        else:
            self._stop()

    def _look_later(self) -> None:
        signal.signal(signal.SIGALRM, self._look_again)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)

    def _stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._waits = False
        raise KeyboardInterrupt


def _imports(frame: FrameType | None) -> bool:
    """Return whether one of `_UNBROKEN` is just being imported."""
    while frame is not None:
        of = str(frame.f_globals.get("__name__")).partition(".")[0]
        if of in _UNBROKEN and frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False
