"""Writing a matplotlib figure to a file: the same bytes every time."""

from pathlib import Path
from typing import TYPE_CHECKING

from simfl.core.files import write_output
from simfl.runs.folder.outside import require_place

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def check_picture(path: Path, option: str = "--out") -> None:
    """Refuse a file name that no picture can be written to, before the work is done.

    Args:
        path: where it is to go.
        option: which gave it.

    Raises:
        InputError: the ending is not one of `FORMATS`, or see `require_place`.
    """
    require_place(path, option, FORMATS)


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
    with mpl.rc_context():
        mpl.rcParams["svg.hashsalt"] = "simfl"
        mpl.rcParams["pdf.fonttype"] = 42  # journals refuse matplotlib's Type 3 fonts
        mpl.rcParams["svg.fonttype"] = "none"  # text that can be searched and edited
        figure.savefig(picture, format=form[1:], dpi=150, metadata=dates[form])
    write_output(path, picture.getvalue())
