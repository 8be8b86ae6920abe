"""Standard streams: such as are closed, as by ``2>&-``, and encodings that lack characters."""

import codecs
import io
import os
import sys

ALIKE = {
    "─": "-", "│": "|", "├": "+", "└": "+", "–": "-", "…": "~",
    "±": "+/-", "×": "x", "÷": "/", "µ": "u", "μ": "u",
}  # fmt: skip
"""What stands for a character of tables and units that is lacking; for others it is a "?"."""


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


def print_anywhere() -> None:
    """Print what is most alike for characters that the output or error stream can't encode."""
    codecs.register_error("simfl.alike", _alike)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            stream.reconfigure(errors="simfl.alike")


def _alike(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(ALIKE.get(character, "?") for character in lacking), error.end
