"""From exceptions to one clear message and an exit code.

| code | meaning |
|---|---|
| 0 | done |
| 1 | the run failed |
| 2 | bad input; nothing was written |
| 130 | interrupted (a run can be resumed): 143 by SIGTERM, 129 by SIGHUP |

Commands simply raise; only ``--debug`` lets a traceback out.
"""

import io
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress

import typer

from simfl.cli._signals import INTERRUPTED
from simfl.core.files import failure
from simfl.core.machine.memory import is_out_of_memory, is_short_of_memory, is_short_of_threads
from simfl.errors import SimflError

# Typer brings its own Click or uses the one installed; either way this is the base of usage errors.
_UsageError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)
GONE = "the folder that simfl was called in is gone"


def guarded(call: Callable[[], int], *, debug: bool = False) -> int:
    """Return the exit code of `call`, whatever it raises; messages go to stderr.

    Args:
        call: returns an exit code.
        debug: whether tracebacks are printed.
    """
    try:
        return call()
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED, debug)
    except SimflError as error:
        perhaps_why = "" if is_there() else f" ({GONE})"
        return _fail(f"error: {error}{perhaps_why}", error.exit_code, debug)
    except _UsageError as error:
        return _fail(f"error: {_usage(error)}", 2, debug)
    except BrokenPipeError:
        _print_no_more()  # whoever read our output (such as `head`) has seen enough
        return 0
    except Exception as error:
        if _was_interrupted(error):
            return _fail("interrupted", INTERRUPTED, debug)
        if told := _of_room(error):
            said = str(error).partition("\n")[0]  # PyTorch appends its stack
            return _fail(f"error: {told}{f' ({said})' if said else ''}", 1, debug)
        if isinstance(error, OSError):
            where = str(error.filename or "the operating system")
            if not is_there():
                return _fail(f"error: {GONE}", 2, debug)
            if error.filename is None and _is_of_output(error):
                where = "can't write to standard output"
                _print_no_more()
            fault = failure(where, error)
            return _fail(f"error: {fault}", fault.exit_code, debug)
        from simfl.core.blame import told_of_owner

        if whose := told_of_owner(error):
            return _fail(f"error: {whose}", 1, debug)
        hint = "" if debug else " (--debug shows where)"
        return _fail(f"internal error: {type(error).__name__}: {error}{hint}", 1, debug)


def is_there() -> bool:
    """Return whether the folder that simfl was called in is there still."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _of_room(error: Exception) -> str:
    """Return what the machine has no room for ("": that is not behind an error)."""
    if is_short_of_threads(error):
        return "there is no room for another thread; raise the limit (ulimit -u, or -v for memory)"
    if is_short_of_memory(error):
        return "there is too little memory to load or open something"
    if is_out_of_memory(error):
        return (
            "there is too little memory for this: raise the limit, if there is one (ulimit -v); of "
            "a scenario, the model and the data set need most"
        )
    return ""


def _is_of_output(error: OSError) -> bool:
    """Return whether `error` is what printing fails of: it goes to a file, and the disk is full."""
    try:
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), b"\n")  # of some texts nothing is kept for another try
    except io.UnsupportedOperation:  # it goes to no file
        return False
    except OSError as again:
        return again.errno == error.errno
    return False


def _print_no_more() -> None:
    """Let what is still to be printed go nowhere: Python tries once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: libraries that are being imported make others of it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt) or "KeyboardInterrupt" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    with suppress(OSError):  # the terminal may be gone
        print(message, file=sys.stderr, flush=True)
    return code


def _usage(error: Exception) -> str:
    message = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    from pydantic import ValidationError

    if isinstance(error.__cause__, ValidationError):  # as newer versions of Typer read values
        from simfl.scenario.problems import first_message

        message = message.replace(str(error), first_message(error.__cause__))
    context = getattr(error, "ctx", None)
    if context is None:
        return message.rstrip(".")
    see = " See" if message.endswith("?") else "; see"
    return f"{message.rstrip('.')}{see} {context.command_path} --help"
