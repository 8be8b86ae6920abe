"""Programs of the machine's that the testbed runs."""

import subprocess


class Refused(RuntimeError):
    """This machine can't have a testbed, or has one already."""


def run(*words: str, check: bool = True) -> str:
    """Return what a program prints.

    Raises:
        Refused: it fails, and `check`.
    """
    done = subprocess.run(words, capture_output=True, text=True)
    if check and done.returncode:
        raise Refused(f"`{' '.join(words)}` failed: {done.stderr.strip()}")
    return done.stdout
