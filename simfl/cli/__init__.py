"""The `simfl` command: what it starts with; its commands are in `commands`."""

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see `simfl.cli.errors`).

    Args:
        argv: the words after `simfl` (None: those of this process).
    """
    if argv is not None:  # the program that calls this has handlers of its own
        return _main(argv)
    import atexit
    import gc
    import os
    import sys

    from simfl.cli._signals import Interruptions
    from simfl.cli._streams import print_anywhere, replace_closed
    from simfl.core.machine.blas import limit_threads
    from simfl.core.machine.garbage import few_collections

    atexit.register(gc.freeze)  # what PyTorch has made need not be looked through once more
    limit_threads()
    replace_closed()
    print_anywhere()
    interruptions = Interruptions()
    try:
        here = os.getcwd()
    except FileNotFoundError:
        from simfl.cli.errors import GONE

        print(f"error: {GONE}", file=sys.stderr)
        return 2
    if here not in sys.path:
        # As `python -m simfl` does: a scenario may name components of a module that lies here.
        sys.path.append(here)
    with few_collections():  # to import what a command needs makes hundreds of thousands of objects
        return interruptions.ended(_main(sys.argv[1:]))


def _main(words: Sequence[str]) -> int:
    try:
        from simfl.cli.app import invoke
        from simfl.cli.errors import guarded
    except KeyboardInterrupt:
        import sys

        print("interrupted", file=sys.stderr)
        return 130
    debug = "--debug" in words  # wherever it stands: who adds it after an error adds it at the end
    return guarded(lambda: invoke([word for word in words if word != "--debug"]), debug=debug)
