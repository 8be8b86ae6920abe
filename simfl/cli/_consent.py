"""Whether code that a scenario brings along may run: the user says so once for what it says.

What was allowed is kept as SHA-256 digests in ``simfl/allowed`` below the user's configuration
(`$XDG_CONFIG_HOME`, else ``~/.config``).  A digest is of the module and of all that lies beside it
and that it could import, so that a change of any of it is a new question.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import typer

SUFFIXES = (".py", ".pyc", ".so", ".pyd")
"""Of files that Python imports."""


def consent(flag: bool) -> Callable[[Path, Path | None], bool]:
    """Return what says whether code may be imported, see `simfl.core.code.Allows`.

    Args:
        flag: whether the user has said so now; then it is remembered.
    """

    @cache
    def allows(folder: Path, file: Path | None) -> bool:
        if file is None:
            return flag
        digest = digest_of(folder, file)
        if digest in _remembered():
            return True
        if flag or _answers_yes(file):
            _remember(digest)
            return True
        return False

    return allows


def digest_of(folder: Path, file: Path) -> str:
    """Return the digest of a file in `folder`, and of the modules and packages there."""
    digest = sha256()
    for path in [file, *_modules(folder)]:
        name = path.relative_to(folder).as_posix().encode()
        digest.update(b"%d:%b%b" % (len(name), name, sha256(path.read_bytes()).digest()))
    return digest.hexdigest()


def _modules(folder: Path) -> list[Path]:
    modules = list[Path]()
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES and path.is_file():
            modules.append(path)
        elif (path / "__init__.py").is_file():
            modules += _modules(path)
    return modules


def _list() -> Path:
    configuration = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(configuration) / "simfl" / "allowed"


def _remembered() -> set[str]:
    try:
        return set(_list().read_text(encoding="ascii").split())
    except (OSError, UnicodeError, RuntimeError):  # the latter: there is no home folder
        return set()


def _remember(digest: str) -> None:
    with suppress(OSError, RuntimeError):  # then it is asked again
        _list().parent.mkdir(parents=True, exist_ok=True)
        with _list().open("a", encoding="ascii") as file:
            file.write(f"{digest}\n")


def _answers_yes(file: Path) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(f"This scenario imports code from {file}, which runs. Allow it?", err=True)
