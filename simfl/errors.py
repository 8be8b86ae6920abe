"""Every error a user can meet; one glance shows the tree.

SimflError
├── InputError        the user's input is wrong: exit code 2, nothing written
│   ├── UnitError     a quantity without a unit, or with one that does not fit
│   ├── NameNotFound  an unknown component, with the nearest valid name
│   └── ScenarioError a scenario that can't be run, with every problem and its place
├── RunError          the run itself failed: exit code 1, the run folder stays readable
│   └── ComponentError  a component raised, or returned what it must not
└── Interrupted       the user stopped it: exit code 130, it can be resumed
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches


class SimflError(Exception):
    """Base of every error raised on purpose."""

    exit_code = 1


class InputError(SimflError, ValueError):
    """The user's input can't be accepted as it is."""

    exit_code = 2


class UnitError(InputError):
    """A quantity has no unit, or one of the wrong kind."""


MEANT = "; did you mean"
"""How a hint begins that names what was meant, and not all that there is."""
NEGATIONS = ("a", "in", "un", "non-", "non_", "not_", "no_")
"""Before a name, they make the opposite of it."""
LONGEST_NAME = 100
"""Characters of a name that nothing is called by, which a message shows."""


class NameNotFound(InputError):
    """A name that nothing is registered under.

    Args:
        kind: of what it would be the name.
        name: what was written.
        known: the names that there are.
        else_: said instead of all these where none is like it ("": they are listed).
    """

    def __init__(self, kind: str, name: object, known: Iterable[str], else_: str = "") -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        hint = nearest(str(name), self.known)
        if else_ and not hint.startswith(MEANT):
            hint = else_
        super().__init__(f"unknown {kind} {str(name)[:LONGEST_NAME]!r}{hint}")


class ScenarioError(InputError):
    """A scenario that can't be run; the message lists every problem with its place."""


class RunError(SimflError):
    """A run that could not go on."""


class ComponentError(RunError):
    """A component, such as a user's selector, raised or returned what its contract forbids."""


class Interrupted(SimflError):
    """A run that the user, or a signal, stopped; nothing is lost."""

    exit_code = 130


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """Return a hint such as ``; did you mean 'fedcor'?``, or what there is to choose from.

    Args:
        name: what was written.
        known: what might have been meant.
        alike: how much alike a name must be spelt, as `difflib` has it (1: the same).

    >>> nearest("sync", ["fedasync", "synchronous"]), nearest("MSE", ["mean_squared_error"])
    ("; did you mean 'synchronous'?", "; did you mean 'mean_squared_error'?")
    >>> nearest("time", ["normalised_time", "time_s", "time_s_to_50%"])
    "; did you mean 'time_s'?"
    >>> nearest("asynchronous", ["fedasync", "synchronous"])
    '; expected one of: fedasync, synchronous'
    """
    names = sorted(known)
    close = _close(name.lower(), {full.lower(): full for full in names}, alike)
    if close and name.lower() not in (f"{no}{close.lower()}" for no in NEGATIONS):
        return f"{MEANT} {close!r}?"
    return f"; expected one of: {', '.join(names)}" if names else ""


def listed_hint(names: Iterable[str]) -> str:
    """Return a hint at any of `names`.

    >>> listed_hint(["rounds.clients", "data.partition.clients"])
    "; did you mean 'rounds.clients' or 'data.partition.clients'?"
    """
    return f"{MEANT} {' or '.join(map(repr, names))}?"


def _close(name: str, known: Mapping[str, str], cutoff: float) -> str | None:
    """Return what of `known` (in small letters: as it is written) `name` probably stands for.

    That is what only differs in its case, what begins so (alone, or as all others that do begin) or
    is how it begins (the longest), an abbreviation by first letters (or what it abbreviates), what
    alone ends in it as a word, or else what is spelt most alike.
    """
    longer = [full for full in known if len(name) > 2 and full.startswith(name)]
    shorter = [full for full in known if len(full) > 2 and name.startswith(full)]
    begin = longer + sorted(shorter, key=len)[-1:]
    if begin and all(full.startswith(min(begin, key=len)) for full in begin):
        begin = [min(begin, key=len)]
    short = [full for full in known if _initials(full) == name or _initials(name) == full]
    end = [full for full in known if name and full.endswith(f"_{name}")]
    alike = get_close_matches(name, known, n=1, cutoff=cutoff)
    for candidates in ([name] if name in known else [], begin, short, end):
        if len(candidates) == 1:
            return known[candidates[0]]
    return known[alike[0]] if alike else None


def _initials(name: str) -> str:
    words = name.split("_")
    return "".join(word[:1] for word in words) if len(words) > 1 else ""
