"""Environments for other people's packages, so that they change nothing in ours."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


class NotInstalled(RuntimeError):
    """Pip could not; the message is its last complaint."""


def environment(
    folder: Path, packages: Sequence[str], constraints: Path | None = None, ours: bool = False
) -> Path:
    """Return the folder of the programs of an environment, which is made if it is not there.

    Args:
        folder: where it is, or is to be.
        packages: what it has, from PyPI.
        constraints: a file of versions, for pip.
        ours: whether it also sees what this environment has, behind what it has itself.

    Raises:
        NotInstalled: pip failed.
    """
    ready, wanted = folder / "ready", "\n".join(packages)
    programs = folder / "bin"
    if ready.exists() and ready.read_text() == wanted:
        return programs
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    limits = [] if constraints is None else ["--constraint", str(constraints)]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        subprocess.run([*pip, *limits, *packages], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        said = [line for line in (error.stderr or "").splitlines() if "ERROR" in line]
        raise NotInstalled((said or [f"pip install {' '.join(packages)} failed"])[-1]) from None
    if ours:
        [site] = folder.glob("lib/python*/site-packages")
        folders = [path for path in sys.path if path.endswith("site-packages")]
        (site / "ours.pth").write_text("\n".join(folders))
    ready.write_text(wanted)
    return programs
