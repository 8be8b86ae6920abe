"""Code that a scenario names as ``module:Class`` or ``path.py:Class``: what may be imported.

A scenario may be a stranger's, and importing a module runs it.  From Python everything may be
imported; commands ask for their user's consent (`importing`).
"""

import importlib
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from inspect import getsourcefile
from pathlib import Path
from types import ModuleType, TracebackType

from pydantic import PydanticUserError

from simfl.errors import MEANT, InputError, nearest

SIMFL = str(Path(__file__).parents[1]) + os.sep
"""Begins the names of simfl's own files."""
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib"))

MOST_LISTED = 10
"""So many names are told at most of what may have been meant."""
Allows = Callable[[Path, Path | None], bool]
"""(folder, file) -> whether that file, found from that folder on, may be imported; None: some
module that does not lie there."""

_allows: ContextVar[Allows] = ContextVar("allows", default=lambda _folder, _file: True)
_folder: ContextVar[Path | None] = ContextVar("folder", default=None)


@contextmanager
def importing(allows: Allows) -> Iterator[None]:
    """Let scenarios import no more than what something `allows`."""
    before = _allows.set(allows)
    try:
        yield
    finally:
        _allows.reset(before)


@contextmanager
def beside(folder: Path | None) -> Iterator[None]:
    """Look for modules in `folder` too, the scenario's own."""
    before = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(before)


def folder_beside() -> Path:
    """Return where a scenario's files are that it names relatively, while it is read."""
    return _folder.get() or Path()


def own_file(name: str) -> str:
    """Return the file beside the scenario being read that a name is, or leaves .py out of ("")."""
    if ".py" in name:
        return name
    with suppress(OSError, ValueError):  # it can't be the name of a file
        return f"{name}.py" if (folder_beside() / f"{name}.py").is_file() else ""
    return ""


def file_of(named: object) -> Path | None:
    """Return the file whose code defines `named`, or its class."""
    module = sys.modules.get(getattr(named, "__module__", "")) or sys.modules.get(
        type(named).__module__
    )
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file)


def users_line(raised: TracebackType | None, owner: type | None = None) -> str | None:
    """Return ``file:line`` of the innermost frame that is the user's, if one is.

    Args:
        raised: where an error comes from.
        owner: a class of the user's; its file is theirs wherever it lies.
    """
    try:
        own = None if owner is None else getsourcefile(owner)
    except (TypeError, OSError):
        own = None
    for frame in reversed(traceback.extract_tb(raised)):
        file = frame.filename
        # Of a compiled library's source there is no line; of a notebook's cell there is.
        foreign = file.startswith((SIMFL, *_LIBRARIES, "<frozen ")) or not frame.line
        if file == own or not foreign:
            return f"{file}:{frame.lineno}"
    return None


def message_with_line(error: BaseException) -> str:
    """Return what an error says, and the user's line that it comes from, if one is."""
    place = users_line(error.__traceback__)
    where = f" ({place})" if place else ""
    return str(error).partition("\n")[0] + where  # pydantic appends where to read more


def import_failure(error: BaseException) -> str:
    """Return what goes on where a name ends: why that can't be imported."""
    if isinstance(error, PydanticUserError) and error.code == "model-field-missing-annotation":
        _, untyped, *_ = str(error).split("`")
        where = users_line(error.__traceback__)
        return (
            f"can't be imported: `{untyped}` has no type: an option is declared as in "
            "`count: float = 0.5`, a constant as in `COUNT: ClassVar[float] = 0.5`"
            f"{f' ({where})' if where else ''}"
        )
    plain = isinstance(error, ImportError | AttributeError | InputError)
    kind = "" if plain else f"{type(error).__name__}: "
    return f"can't be imported: {kind}{message_with_line(error)}"


class NotImported(InputError):
    """A module was not imported; the message goes on where a name ends."""


def named_class(name: str) -> object:
    """Return what ``module:Class`` or ``path.py:Class`` names.

    Raises:
        NotImported: it may not be imported, there is no such file or nothing of that name in it,
            Python takes another module for that file, or has an older one.
        Exception: whatever the module raises.
    """
    place, _, attribute = name.partition(":")
    if place.partition(".")[0] == "simfl" and not place.endswith(".py"):
        module, imported = place, importlib.import_module(place)
    else:
        folder, module, file = _found(place)
        _refuse_what_is_not_allowed(folder, file)
        imported = _import(module, folder, file)
    if not hasattr(imported, attribute):
        names = [known for known, what in vars(imported).items() if _is_of(module, what)]
        what = f"{module!r} has no {attribute!r}{_likely(attribute, names)}"
        raise NotImported(f"can't be imported: {what}")
    return getattr(imported, attribute)


def _found(place: str) -> tuple[Path, str, Path | None]:
    """Return the folder of a module, its name, and its file (None: it does not lie there).

    Args:
        place: ``module`` or ``path.py``.

    Raises:
        NotImported: there is no such file.
    """
    folder = folder_beside().resolve()
    if place.endswith(".py"):
        file = (folder / place).resolve()
        folder, module = file.parent, file.stem
        if _folder.get() is not None and not file.is_file():  # workers have another folder
            files = [near.name for near in folder.glob("*.py") if near.is_file()]
            hint = _likely(file.name, files, alike=0.8)
            raise NotImported(f"can't be imported: there is no file {file}{hint}")
    else:
        file, module = (folder / Path(*place.split("."))).with_suffix(".py"), place
        package = file.with_suffix("") / "__init__.py"  # which Python prefers
        file = package if package.is_file() else file
    return folder, module, file if file.is_file() else None


def _refuse_what_is_not_allowed(folder: Path, file: Path | None) -> None:
    if _allows.get()(folder, file):
        return
    where = "" if file is None else f" in {file}"
    once = "" if file is None else "; once given, it holds until Python code there changes"
    raise NotImported(f"runs code{where}; give --allow-code to allow it{once}")


def _import(module: str, folder: Path, file: Path | None) -> ModuleType:
    """Import a module: that in the `file` if it lies in the `folder`, and no other of its name."""
    if file is None:
        return importlib.import_module(module)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last: nothing installed is hidden; workers inherit it
        importlib.invalidate_caches()
    imported = importlib.import_module(module)
    if Path(imported.__file__ or "").resolve() != file.resolve():
        raise NotImported(f"can't be imported: another module is called {module!r}; rename {file}")
    _refuse_stale(imported, file)
    return imported


def _likely(name: str, known: Sequence[str], alike: float = 0.6) -> str:
    """Return a hint at which of the `known` was meant, or all of them, if that is short."""
    hint = nearest(name, known, alike)
    return hint if hint.startswith(MEANT) or len(known) <= MOST_LISTED else ""


def _is_of(module: str, what: object) -> bool:
    """Return whether a module defines that class or function itself."""
    return callable(what) and getattr(what, "__module__", "") == module


_IMPORTED: dict[str, tuple[object, bytes]] = {}
"""Modules beside scenarios, by name: their spec, which a reload renews, and what the file said."""


def _refuse_stale(module: ModuleType, file: Path) -> None:
    """Refuse a module whose file was changed after Python had imported it, as in a notebook.

    Raises:
        NotImported: it was; what would run is not what the file says.
    """
    spec, now = module.__spec__, file.read_bytes()
    known, then = _IMPORTED.setdefault(module.__name__, (spec, now))
    if known is not spec:
        _IMPORTED[module.__name__] = (spec, now)
    elif then != now:
        raise NotImported(
            f"was imported before {file} was changed; start Python anew, or call "
            f"importlib.reload(sys.modules[{module.__name__!r}]) first"
        )


def is_code(text: object) -> bool:
    """Return whether `text` looks like the name of a class in somebody's module."""
    module, _, attribute = str(text).partition(":")
    dotted = all(part.isidentifier() for part in module.split("."))
    return attribute.isidentifier() and (dotted or module.endswith(".py"))
