"""Places for what is asked for by name: there, and in no run folder, which it would harm."""

import os
from collections.abc import Sequence
from pathlib import Path

from simfl.core.words import either
from simfl.errors import InputError
from simfl.runs.folder.folder import PROVENANCE


def require_place(path: Path, option: str, endings: Sequence[str] = ()) -> None:
    """Refuse a file that can't be written to, before the work is done.

    Args:
        path: where it is to go.
        option: which gave it.
        endings: which its name may have (none: any).

    Raises:
        InputError: it is a folder, has another ending, or its folder is not there or is a run's.
    """
    if path.is_dir():
        raise InputError(f"{option}: {path} is a folder; give a file")
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{option}: {path} must end in {either(endings)}")
    if not path.parent.is_dir():
        wrong = "is a file" if path.parent.exists() else "does not exist"
        raise InputError(f"{option}: the folder {path.parent} {wrong}")
    refuse_inside(path.parent, option)


def refuse_inside(folder: Path, option: str) -> None:
    """Refuse a folder that is a run's, torn or not, or in one: nothing but the run goes there.

    Raises:
        InputError: it is.
    """
    real = Path(os.path.realpath(folder))  # of a circle of links, too, which `resolve` refuses
    for place in (folder, *folder.parents, *real.parents):
        if (place / PROVENANCE).exists():
            raise InputError(f"{option}: {place} is the folder of a run; give another")
