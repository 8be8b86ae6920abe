"""What papers call what scenarios call otherwise: FedProx is a workload and a key."""

import re
from contextlib import suppress

from simfl.errors import MEANT, InputError, NameNotFound, nearest
from simfl.scenario.keys import all_keys, plain
from simfl.scenario.reference.describe import Description, overview
from simfl.scenario.reference.kinds import KINDS, registry


def namesakes(method: str) -> list[str]:
    """Return what papers call a `method`, or is called so itself, as `simfl describe` takes it.

    Such as FedProx, which is a workload and a key: "FedProx (Li et al., 2020)", "FedProx's mu".
    """
    word = rf"(?<![\w-]){re.escape(method)}"
    cited = re.compile(rf"{word}( \(|:)", re.IGNORECASE)
    told = [
        f"{kind} {name}"
        for kind in KINDS
        for name in overview(kind)
        if name == method.lower() or cited.search(Description.find(kind, name).source)
    ]
    owned = re.compile(rf"{word}'s ", re.IGNORECASE)
    keys = (key for key in all_keys() if key.component is None)
    return told + [plain(key.path) for key in keys if owned.search(key.field.description or "")]


def called_so(method: str, told: list[str]) -> str:
    """Return a hint at the namesakes of a `method`."""
    names = all(one.endswith(f" {method.lower()}") for one in told)
    commands = ", ".join(f"`simfl describe {one}`" for one in told)
    return f"; {'elsewhere the name is of' if names else 'what papers call so'}: {commands}"


def with_namesakes(error: NameNotFound) -> str:
    """Return what an error says of a component, and what papers call so unless it is a typo.

    Namesakes of the kind that is wanted take the place of the list of all there are.
    """
    kinds = [kind for kind in KINDS if registry(kind).kind == error.kind]
    name, told = str(error.name), list[str]()
    if kinds and name.strip() and not nearest(name, error.known).startswith(MEANT):
        with suppress(InputError):  # a plugin of another kind can't be imported
            told = namesakes(name)
    if not told:
        return str(error)
    if own := [one for one in told if one.startswith(f"{kinds[0]} ")]:
        return f"unknown {error.kind} {name!r}{called_so(name, own)}"
    return f"{error}{called_so(name, told)}"
