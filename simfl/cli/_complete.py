"""What the shell completes: names of kinds, components, data sets, formats."""

from collections.abc import Callable, Iterable

import typer


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """Return kinds of components."""
    from simfl.scenario.catalogue import DEVICES
    from simfl.scenario.kinds import KINDS

    return _beginning(incomplete, [*KINDS, DEVICES])


def members(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the kind that was given before."""
    from simfl.errors import InputError
    from simfl.scenario.describe import overview

    try:
        return _beginning(incomplete, overview(str(context.params.get("kind"))))
    except InputError:
        return []


def origins(incomplete: str) -> list[str]:
    """Return what can be fetched."""
    from simfl.core.origins import ORIGINS

    return _beginning(incomplete, ORIGINS)


def shipped(incomplete: str) -> list[str]:
    """Return the scenarios that come with simfl."""
    from simfl.cli.new import examples

    return _beginning(incomplete, examples())


def executors(incomplete: str) -> list[str]:
    """Return where to train."""
    from simfl.scenario.kinds import registry

    return _beginning(incomplete, registry("executors").names())


def one_of(*names: str) -> Callable[[str], list[str]]:
    """Return what completes one of these `names`."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(incomplete, names)

    return complete
