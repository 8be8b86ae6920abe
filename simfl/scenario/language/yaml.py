"""YAML 1.2 text -> plain data, and where each piece of it stands.

Whatever a stranger's file holds, reading it takes about a second at most.
"""

import re
from typing import Any

import yaml

from simfl.errors import ScenarioError
from simfl.scenario.language.place import Location, Marks, Place
from simfl.scenario.language.yaml_builder import TOO_DEEP, Builder

MOST_BYTES = 1_000_000
"""No file is read that is longer."""

_FORBIDDEN = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""Characters that YAML text can't hold, and byte order marks."""

NO_COLON = "is the ': ' (a colon and a space) missing there?"


def read_yaml(text: str, source: str, *, lines: bool = True) -> tuple[Any, dict[Location, Marks]]:
    """Return the plain data in YAML 1.2 `text`, and where each piece stands.

    Args:
        text: the YAML.
        source: what messages call it.
        lines: whether lines and columns mean anything to the reader of a message.

    Raises:
        ScenarioError: it is no YAML, too large, or has duplicate keys, keys that are no text, or
            NaN.
    """
    if len(text) > MOST_BYTES:
        raise ScenarioError(f"{source}: is longer than {MOST_BYTES:,} characters")
    if forbidden := _FORBIDDEN.search(text):
        before = text[: forbidden.start()]
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        place = Place(source, line + 1, column + 1) if lines else Place(source)
        what = f"unacceptable character U+{ord(forbidden[0]):04X}"
        raise ScenarioError(f"{place}: is no valid YAML: {what}")
    builder = Builder(source, lines)
    try:
        return builder.build(text)
    except ScenarioError:
        raise
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        if "nesting depth" in str(error.problem):  # a bound that some parsers have themselves
            raise ScenarioError(f"{builder.place(mark)}: {TOO_DEEP}") from None
        raise ScenarioError(
            f"{builder.place(mark)}: is no valid YAML: {_told(error, text, lines)}"
        ) from None
    except (yaml.YAMLError, ValueError) as error:  # such as an escape that is no character
        raise ScenarioError(f"{source}: is no valid YAML: {error}") from None


def _told(error: yaml.MarkedYAMLError, text: str, lines: bool) -> str:
    """Return what the parser says of `text`, where what it was in begins, and what may mend it."""
    begin: Any = error.context_mark
    mark: Any = error.problem_mark or begin
    lines_before = lines and begin is not None and begin.line < mark.line
    context = f"{error.context} (from line {begin.line + 1})" if lines_before else error.context
    what = " ".join(part for part in (context, error.problem) if part)
    cure = _cure(error, text, what)
    return f"{what}; {cure}" if cure else what


def _cure(error: yaml.MarkedYAMLError, text: str, what: str) -> str:
    """Return what may mend `text`, of which the parser says `what` ("": nothing is known)."""
    mark: Any = error.problem_mark or error.context_mark
    here = text[mark.index : mark.index + 1] if mark else ""
    if here == "\t":
        return "indent with spaces"
    if here and "any token" in str(error.problem):
        return f"text that begins with {here} stands in quotes"
    if "alias" in what:
        return "text that begins with * stands in quotes"
    if "flow" in str(error.context):
        return _cure_in_braces(here, text[: mark.index])
    if "block" in str(error.context):
        return _cure_in_lines(here)
    if "<document start>" in str(error.problem):
        return "compare its indentation with the first line's"
    if "simple key" in str(error.context) or "unexpected ':'" in what:
        return NO_COLON
    if "mapping values" in str(error.problem):
        if mark and ": " in text[mark.index - mark.column : mark.index]:
            return "text that has ': ' in it stands in quotes"
        return (
            "is the ': ' (a colon and a space) missing in the line above, or does this line begin "
            "too far to the right?"
        )
    return ""


def _cure_in_braces(here: str, before: str) -> str:
    """Return what may mend what stands in braces or brackets, of which `here` was not expected."""
    if not here:
        return "is the } or ] missing that belongs to the last { or [?"
    if here == "{" or (here == "[" and before.endswith((" ", "="))):
        return NO_COLON
    if here == "[":
        return "between braces a path with brackets stands in quotes: 'fleet[0].compute'"
    return ""


def _cure_in_lines(here: str) -> str:
    """Return what may mend lines below each other, of which `here` was not expected."""
    if here and here in "}]":
        return f"there is a {here} too many"
    if here == ",":
        return "lines end without a comma"
    return "compare its indentation, and its '-' if any, with the lines before it"
