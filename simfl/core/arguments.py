"""What is given from Python, where it is not what was meant."""

from collections.abc import Iterable, Mapping

from simfl.errors import InputError


def require_several(name: str, values: object, such_as: str) -> None:
    """Refuse one value, or a mapping, for several: a text would be taken letter by letter.

    Args:
        name: of the argument.
        values: given for it (None: nothing was).
        such_as: an example.

    Raises:
        InputError: they are not several.
    """
    if values is None or (isinstance(values, Iterable) and not isinstance(values, str | Mapping)):
        return
    raise InputError(f"{name}: expected a list such as {such_as}, got {values!r}")
