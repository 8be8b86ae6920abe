"""What is given from Python, where it is not what was meant; and what that is called there."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from types import UnionType
from typing import Any, TypeVar

from simfl.errors import InputError

Result = TypeVar("Result")

_commanded: ContextVar[bool] = ContextVar("commanded", default=False)


@contextmanager
def commanded() -> Iterator[None]:
    """Call arguments by the names of a command's options while the body runs."""
    token = _commanded.set(True)
    try:
        yield
    finally:
        _commanded.reset(token)


def called_alike(call: Callable[..., Result]) -> Callable[..., Result]:
    """Return `call` to be made in another process: there it calls arguments as they are here."""
    return partial(_of_a_command, call) if _commanded.get() else call


def _of_a_command(call: Callable[..., Result], *arguments: Any) -> Result:
    with commanded():
        return call(*arguments)


def called(option: str, argument: str) -> str:
    """Return what messages call something that a user gave, or could give.

    Args:
        option: what it is on the command line, such as ``--overwrite``.
        argument: what it is from Python, such as ``overwrite=True``.
    """
    return option if _commanded.get() else argument


def require_kind(name: str, value: object, kind: type | UnionType, expected: str) -> None:
    """Refuse what is of another kind than it should be.

    Args:
        name: of the argument.
        value: given for it.
        kind: what it should be.
        expected: the same in words, with an example.

    Raises:
        InputError: it is not.
    """
    if not isinstance(value, kind):
        raise InputError(f"{name}: expected {expected}, got {value!r}")


def require_several(name: str, values: object, such_as: str, *, optional: bool = True) -> None:
    """Refuse one value, or a mapping, for several: a text would be taken letter by letter.

    Args:
        name: of the argument.
        values: given for it (None: nothing was).
        such_as: an example.
        optional: whether nothing need be given.

    Raises:
        InputError: they are not several.
    """
    if (values is None and optional) or (
        isinstance(values, Iterable) and not isinstance(values, str | Mapping)
    ):
        return
    raise InputError(f"{name}: expected a list such as {such_as}, got {values!r}")
