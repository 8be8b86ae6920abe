"""What is printed where the encoding of the output, such as cp1252, lacks some characters."""

import codecs
import io
import sys

ALIKE = {
    "─": "-", "│": "|", "├": "+", "└": "+", "–": "-", "…": "~",
    "±": "+/-", "×": "x", "÷": "/", "µ": "u", "μ": "u",
}  # fmt: skip
"""What stands for a character of tables and units that is lacking; for others it is a "?"."""


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
