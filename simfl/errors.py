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

from collections.abc import Iterable
from difflib import get_close_matches


class SimflError(Exception):
    """Base of every error raised on purpose."""

    exit_code = 1


class InputError(SimflError, ValueError):
    """The user's input can't be accepted as it is."""

    exit_code = 2


class UnitError(InputError):
    """A quantity has no unit, or one of the wrong kind."""


class NameNotFound(InputError):
    """A name that nothing is registered under."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(f"unknown {kind} {name!r}{nearest(str(name), self.known)}")


class ScenarioError(InputError):
    """A scenario that can't be run; the message lists every problem with its place."""


class RunError(SimflError):
    """A run that could not go on."""


class ComponentError(RunError):
    """A component, such as a user's selector, raised or returned what its contract forbids."""


class Interrupted(SimflError):
    """A run that the user stopped; nothing is lost."""

    exit_code = 130


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ``; did you mean 'fedcor'?``, or what there is to choose from."""
    names = sorted(known)
    if close := get_close_matches(name, names, n=1, cutoff=0.55):
        return f"; did you mean {close[0]!r}?"
    return f"; expected one of: {', '.join(names)}" if names else ""
