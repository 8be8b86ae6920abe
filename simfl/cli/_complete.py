"""What the shell completes: names of kinds, components, data sets, formats."""

from collections.abc import Callable, Iterable

import typer

from simfl.cli import scenarios


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def kinds(incomplete: str) -> list[str]:
    """Return kinds of components."""
    from simfl.scenario.reference.describe import LISTED

    return _beginning(incomplete, LISTED)


def describable(incomplete: str) -> list[str]:
    """Return kinds of components, sections of scenarios and the keys in them, files of runs."""
    from simfl.runs.folder.file_descriptions import FILES
    from simfl.scenario.keys import keys, plain
    from simfl.scenario.reference.describe_units import UNITS

    paths = dict.fromkeys(plain(key.path) for key in keys(lambda _, __: []))
    return [*kinds(incomplete), *_beginning(incomplete, [*paths, *FILES, UNITS])]


def members(context: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the kind that was given before."""
    from simfl.errors import InputError
    from simfl.scenario.reference.describe import overview

    try:
        return _beginning(incomplete, overview(str(context.params.get("kind"))))
    except InputError:
        return []


def origins(incomplete: str) -> list[str]:
    """Return what can be fetched."""
    from simfl.core.downloads.origins import ORIGINS

    return _beginning(incomplete, ORIGINS)


def shipped(incomplete: str) -> list[str]:
    """Return the scenarios that come with simfl."""
    return _beginning(incomplete, scenarios.shipped())


def executors(incomplete: str) -> list[str]:
    """Return where to train."""
    from simfl.scenario.reference.kinds import registry

    return _beginning(incomplete, registry("executors").names())


def one_of(*names: str) -> Callable[[str], list[str]]:
    """Return what completes one of these `names`."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(incomplete, names)

    return complete
