"""The `simfl` command: one file a command, each importing what it needs only when it runs."""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see `simfl.cli.errors`).

    Args:
        argv: the words after `simfl` (None: those of this process).
    """
    import os
    import signal
    import sys

    try:
        from simfl.cli.app import invoke
        from simfl.cli.errors import INTERRUPTED, guarded
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130

    if argv is None:
        try:
            here = os.getcwd()
        except FileNotFoundError:
            print("error: the folder that simfl was called in is gone", file=sys.stderr)
            return 2
        if here not in sys.path:
            # As `python -m simfl` does: a scenario may name components of a module that lies here.
            sys.path.append(here)
    words = [*(sys.argv[1:] if argv is None else argv)]
    debug = "--debug" in words  # wherever it stands: who adds it after an error adds it at the end
    code = guarded(lambda: invoke([word for word in words if word != "--debug"]), debug=debug)
    if argv is None and code == INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said: who asks again is leaving
    return code
