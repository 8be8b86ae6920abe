"""Where data sets lie: in a folder that the user names, and in one that downloads go to."""

import os
from contextlib import suppress
from pathlib import Path

from simfl.errors import InputError


def data_folders() -> list[Path]:
    """Return where data are looked for: ``SIMFL_DATA`` if it is set, and where downloads go.

    Raises:
        InputError: neither is anywhere.
    """
    if not (named := os.environ.get("SIMFL_DATA")):
        return [cache_folder()]
    with suppress(InputError):  # nobody needs a home folder who has named another
        return [Path(named), cache_folder()]
    return [Path(named)]


def cache_folder() -> Path:
    """Return where downloads go: ``$XDG_CACHE_HOME/simfl``, or ``~/.cache/simfl``.

    Raises:
        InputError: there is no home folder, as for users of a container without a name.
    """
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simfl"
    except RuntimeError:
        raise InputError(
            "there is no home folder to keep data sets in; set HOME or XDG_CACHE_HOME, or "
            "SIMFL_DATA to a folder that has them"
        ) from None
