"""Faults of components: what one raises, or returns against its contract, is told as its own."""

import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from simfl.core.at_work import Asked, Doing, asking, begin, end
from simfl.core.code import SIMFL, users_line
from simfl.core.component import Component
from simfl.core.machine.memory import is_out_of_memory
from simfl.core.ownership import names, users_own
from simfl.core.returned import Unexpected
from simfl.errors import ComponentError, SimflError


class blaming:  # noqa: N801  # a context manager, used like a function
    """Tell whatever goes wrong inside as a fault of `component`.

    What a component of simfl's own raises is a bug of simfl's, and passes.

    Args:
        component: whose code runs inside.
        doing: what was asked of it, such as ``choosing clients in round 3``.
        passing: what is nobody's fault, besides simfl's own errors.
        told_as: what it becomes: `InputError` as long as nothing has been run or written.
        steps: whether the code inside is a generator's: others are at work between its steps, and
            whoever takes them lets `at_work` tell, by `asking`.

    Raises:
        SimflError: of the kind `told_as`; names the exception and the user's line that raised it.
    """

    __slots__ = ("_asked", "_component", "_doing", "_passing", "_told_as")

    def __init__(
        self,
        component: Component,
        doing: Doing,
        *,
        passing: type[Exception] = SimflError,
        told_as: type[SimflError] = ComponentError,
        steps: bool = False,
    ) -> None:
        self._component, self._doing = component, doing
        self._passing, self._told_as = passing, told_as
        self._asked: Asked = () if steps else (component,), doing

    def __enter__(self) -> None:
        begin(self._asked)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        end(self._asked)
        passes = (SimflError, MemoryError, self._passing)
        if not isinstance(error, (Exception, SystemExit)) or isinstance(error, passes):
            return
        component = self._component
        if not (isinstance(error, Unexpected) or users_own([component])):
            return
        doing = self._doing if isinstance(self._doing, str) else self._doing()
        place = users_line(error.__traceback__, type(component))
        raise self._told_as(_told([component], doing, error, place)) from error


@contextmanager
def blaming_code_of(components: Sequence[Component], doing: str) -> Iterator[None]:
    """Tell whatever goes wrong inside as a fault of the users' code among `components`.

    It need not be raised by that code: what a loss of the wrong shape leads to, PyTorch raises.

    Args:
        components: whose code runs inside; if all is simfl's own, everything passes.
        doing: what was asked of it, such as ``training clients [3, 5] in round 2``.

    Raises:
        ComponentError: names the component in whose code it was raised, else all of the users'.
    """
    try:
        with asking(components, doing):
            yield
    except (SimflError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        own = users_own(components)
        place = users_line(error.__traceback__, type((own or components)[0]))
        if is_out_of_memory(error) or not (own or place):
            raise
        raised = traceback.walk_tb(error.__traceback__)
        callers = [frame.f_locals.get("self") for frame, _ in raised]
        blamed = (
            [part for part in own if any(part is caller for caller in callers)]
            or own
            or components[:1]
        )
        raise ComponentError(_told(blamed, doing, error, place)) from error


def told_of_owner(error: BaseException) -> str | None:
    """Return what to tell of what a user's component raised where nobody had asked it for anything.

    It may have been one of its properties.  None: no code of theirs did.
    """
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        owner, file = frame.f_locals.get("self"), frame.f_code.co_filename
        if isinstance(owner, Component) and users_own([owner]) and not file.startswith(SIMFL):
            return f"{names([owner])}: {type(error).__name__}: {error} ({file}:{line})"
    return None if error.__cause__ is None else told_of_owner(error.__cause__)  # SimPy raises anew


def _told(blamed: Sequence[Component], doing: str, error: BaseException, place: str | None) -> str:
    """Return what went wrong with whom; of what was returned no line is to blame."""
    what, where = f"{type(error).__name__}: {error}", f" ({place})" if place else ""
    if isinstance(error, Unexpected):
        what, where = str(error), ""
    return f"{names(blamed)}, {doing}: {what}{where}"
