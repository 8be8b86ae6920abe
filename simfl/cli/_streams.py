"""Standard streams that whoever called us has closed, as ``2>&-`` does."""

import os
import sys


def replace_closed() -> None:
    """Let nothing come of what is written to streams that are closed, and nothing be read there.

    Else what `print` is to write to one goes to another, and the next file that is opened gets its
    number, so that what libraries print lands in that file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nothing = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115  (of the same number)
            os.set_inheritable(nothing.fileno(), True)
            setattr(sys, name, nothing)
