"""New processes: how they are started, and what they are to know of this one's main module.

They are forked from a server that has imported PyTorch, if the first of them needs it, but never
computed with it: no thread is lost in a fork, and the import is paid for once, in time and in
memory.
"""

import contextlib
import io
import multiprocessing
import pickle
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing import resource_tracker, util
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from types import ModuleType

from simfl.core.arguments import called
from simfl.core.machine.blas import limited_threads
from simfl.core.machine.memory import is_short_of_threads
from simfl.errors import RunError, SimflError

_PRELOADED = ("simfl.core.machine.start_server", "simfl.runs.run_jobs")
_WITH_TORCH = ("torch", "simfl.training.local", "simfl.training.evaluate")
_LONGEST = 103
"""Characters that the name of a socket may have, on macOS; 107 on Linux."""
_ADDED = len("/pymp-12345678/listener-12345678")
"""What Python adds to the folder for temporary files."""


def context(needs_torch: bool = True) -> BaseContext:
    """Return what starts processes; where there is no such server, each begins from nothing.

    Args:
        needs_torch: whether the server imports PyTorch for them, if it is yet to be started.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload([*_PRELOADED, *(_WITH_TORCH if needs_torch else ())])
    return server


def started(
    target: Callable[[Connection], None],
    name: str,
    *,
    daemon: bool,
    with_main: bool = False,
    needs_torch: bool = True,
) -> tuple[Connection, BaseProcess]:
    """Return the near end of a channel, and a new process that is given the far one.

    Args:
        target: what it does.
        name: of the process.
        daemon: whether it ends with this process; then it can't start any itself.
        with_main: whether it runs the main module again, which a script must allow for.
        needs_torch: whether it needs PyTorch; one that imports it by itself may do so, too.

    Raises:
        RunError: the machine has no room for another process.
    """
    try:
        _keep_names_of_sockets_short()
        try:
            return _started(context(needs_torch), target, name, daemon, with_main)
        except ChildProcessError:  # this one was forked off a process that has such a server
            spawn = multiprocessing.get_context("spawn")
            return _started(spawn, target, name, daemon, with_main)
    except (OSError, EOFError) as error:
        why = getattr(error, "strerror", None)
        if why is None or isinstance(error, ConnectionError):  # killed, or short of files itself
            why = "the process that starts them is gone; try again, and if that does not help"
        else:
            why = f"{why};"
        raise RunError(
            f"can't start a worker process: {why} give fewer "
            f"{called('--workers (or --jobs)', 'workers (or jobs)')}, or raise the limit "
            "(ulimit -n for files, ulimit -u for processes)"
        ) from error


def _started(
    start: BaseContext,
    target: Callable[[Connection], None],
    name: str,
    daemon: bool,
    with_main: bool,
) -> tuple[Connection, BaseProcess]:
    near, far = start.Pipe()
    try:
        process: BaseProcess = start.Process(  # type: ignore[attr-defined]
            target=target, args=(far,), name=name, daemon=daemon
        )
        main = nullcontext() if with_main else without_main()
        with main, limited_threads(), _ctrl_c_waits():
            process.start()
    except BaseException:
        near.close()
        raise
    finally:
        far.close()
    return near, process


def _keep_names_of_sockets_short() -> None:
    """Have sockets put into ``/tmp`` if the folder for temporary files has too long a name.

    As clusters have them.  It is done before this process has the first socket, or has no effect.
    """
    folder = tempfile.gettempdir()
    if len(folder) + _ADDED <= _LONGEST:
        return
    tempfile.tempdir = "/tmp"
    try:
        util.get_temp_dir()  # makes the folder of this process's sockets, and remembers it
    finally:
        tempfile.tempdir = folder


def begin_thread(target: Callable[..., None], *args: object) -> None:
    """Start a thread that ends with its process, in a process that was `started`.

    Where there is no room for it the process ends, with a line that says so.
    """
    try:
        threading.Thread(target=target, args=args, daemon=True).start()
    except RuntimeError as error:
        if not is_short_of_threads(error):
            raise
        sys.exit("a process has no room for a thread; raise the limit (ulimit -u)")


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: it is for this one to handle.

    The server that forks them ignores it only once it has imported what they need.
    """
    resource_tracker.ensure_running()  # which would unblock it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def without_main() -> Iterator[None]:
    """Start processes that do not run the main module again.

    By itself `multiprocessing` has every new process import it, so that a script without ``if
    __name__ == "__main__"`` would run again in each.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def needs_main(payload: bytes) -> bool:
    """Whether the pickle `payload` names anything of the main module."""
    return b"__main__" in payload


def can_travel(value: object, pickler: type[pickle.Pickler] = pickle.Pickler) -> bool:
    """Whether a new process could be given `value` without running the main module again.

    Args:
        value: of any kind.
        pickler: how it is pickled.
    """
    if multiprocessing.current_process().daemon:
        return False  # such a process may not start others
    buffer = io.BytesIO()
    try:
        pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    except Exception:  # whatever a user's class raises
        return False
    return not needs_main(buffer.getvalue())


def portable(error: Exception) -> BaseException:
    """Return `error`, or the nearest thing to it that can be sent to another process."""
    for kind in type(error).__mro__:
        if not issubclass(kind, SimflError):
            break
        with contextlib.suppress(Exception):
            same = kind(str(error))
            if str(pickle.loads(pickle.dumps(same))) == str(error):
                return same
    with contextlib.suppress(Exception):
        if str(pickle.loads(pickle.dumps(error))) == str(error):
            error.add_note("".join(traceback.format_exception(error)))
            return error
    return RunError("".join(traceback.format_exception(error)))
