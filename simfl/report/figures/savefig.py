"""Writing a matplotlib figure to a file: the same bytes every time."""

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from simfl.core.files import write_output
from simfl.errors import InputError
from simfl.report.figures.looks import FONTS
from simfl.runs.folder.outside import require_place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def check_picture(path: Path, option: str = "--out") -> None:
    """Refuse, before the work is done, what no picture can be written to, or made with.

    Args:
        path: where it is to go.
        option: which gave it.

    Raises:
        InputError: the ending is not one of `FORMATS`, or see `require_place`; or matplotlib can't
            read a variable of the environment.
    """
    require_place(path, option, FORMATS)
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "0")
    if not epoch.strip().isdecimal():
        raise InputError(f"the variable SOURCE_DATE_EPOCH: expected seconds, got {epoch!r}")
    try:
        importlib.import_module("matplotlib")
    except ValueError as error:
        if "MPLBACKEND" not in os.environ:
            raise
        raise InputError(f"the variable MPLBACKEND: {error}") from None


def save(figure: "Figure", path: Path) -> None:
    """Write a figure, without the date and random names that would change it from run to run.

    Raises:
        InputError: the file can't be there.
        RunError: the disk is full.
    """
    import io

    import matplotlib as mpl

    dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
    form, picture = path.suffix.lower(), io.BytesIO()
    with mpl.rc_context(rc=FONTS):  # type: ignore[arg-type]
        mpl.rcParams["svg.hashsalt"] = "simfl"
        figure.savefig(picture, format=form[1:], dpi=150, metadata=dates[form])
    write_output(path, picture.getvalue())
