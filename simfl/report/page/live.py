"""Runs below a folder as they grow, as pages: what `simfl watch` shows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from simfl.errors import InputError, SimflError
from simfl.report import formats
from simfl.report.comparison.cells import TEXT
from simfl.report.page.notes import of_planned
from simfl.report.page.page import page
from simfl.report.page.rendering import asset, render
from simfl.runs.folder.folder import CLIENTS, EVENTS, PROVENANCE, ROUNDS, SCENARIO, SUMMARY
from simfl.runs.folder.growing_file import PACKED
from simfl.runs.folder.lock import is_locked
from simfl.runs.results.find import load, study_order
from simfl.runs.results.result import RunResult

READ = (SCENARIO, PROVENANCE, SUMMARY, ROUNDS, CLIENTS, EVENTS, EVENTS + PACKED)
"""The files of a run that a page is made of."""


@dataclass(frozen=True)
class Row:
    """What the list says of one run."""

    name: str
    link: str
    state: str
    round: str = formats.NOTHING
    time: str = formats.NOTHING
    judged: str = formats.NOTHING
    started: str = ""


@dataclass(frozen=True)
class Folder:
    """Runs that belong together; `link`: their page ("": it is that of the only run)."""

    name: str
    link: str
    runs: Sequence[Row]


class LiveRuns:
    """The runs below a folder.  Nothing is ever written, and nothing outside it is read.

    Args:
        top: the folder; it may be empty yet.

    Raises:
        InputError: there is no such folder.
    """

    def __init__(self, top: Path) -> None:
        if not top.is_dir():
            raise InputError(f"{top} is not a folder")
        self.top = top.resolve()
        self._rows: dict[Path, tuple[str, Row]] = {}
        self._pages: dict[str, tuple[str, str]] = {}

    def version(self, where: str) -> str | None:
        """Return what changes whenever the page at `where` would (None: there is no such page).

        Args:
            where: "" for the list, or a folder below the top as `Path.as_posix` writes it ("."
                for the top itself).
        """
        folders = self._below(where)
        return self._version(folders) if folders or not where else None

    def page(self, where: str) -> str | None:
        """Return the page at `where`, as HTML; see `version`."""
        folders = self._below(where)
        if where and not folders:
            return None
        version = self._version(folders)
        if (kept := self._pages.get(where)) is not None and kept[0] == version:
            return kept[1]
        made = self._page(folders, version) if where else self._list(folders, version)
        self._pages = {where: (version, made)}  # one reader, who looks at one page
        return made

    def _page(self, folders: Sequence[Path], version: str) -> str:
        runs = [load(folder).read() for folder in folders]
        return page(runs, {"home": "/", "live": asset("live.js"), "version": version})

    def _list(self, folders: Sequence[Path], version: str) -> str:
        groups: dict[Path, list[Path]] = {}
        for folder in folders:
            depth = len(folder.relative_to(self.top).parts)
            above = folder.parents[min(1, depth - 1)] if depth else folder
            groups.setdefault(above, []).append(folder)
        rows = [
            Folder(
                path.name if path == self.top else self._name(path),
                self._link(path) if len(own_runs) > 1 else "",
                [self._row(folder, path) for folder in own_runs],
            )
            for path, own_runs in groups.items()
        ]
        states = [row.state for folder in rows for row in folder.runs]
        running = states.count("running")
        facts = f"{formats.plural(len(states), 'run')}, {running} running"
        return render(
            "runs.html",
            title=f"Runs in {self.top.name}",
            facts=facts,
            folders=rows,
            version=version,
            script=asset("live.js"),
        )

    def _row(self, folder: Path, among: Path) -> Row:
        version = _signature(folder)
        if (kept := self._rows.get(folder)) is not None and kept[0] == version:
            return kept[1]
        name = folder.relative_to(among).as_posix() if folder != among else folder.name
        row = _row(folder, name, self._link(folder))
        self._rows[folder] = version, row
        return row

    def _link(self, folder: Path) -> str:
        return "/all" if folder == self.top else f"/runs/{quote(self._name(folder))}"

    def _name(self, folder: Path) -> str:
        return folder.relative_to(self.top).as_posix()

    def _below(self, where: str) -> list[Path]:
        """Return the run folders at and below `where`, in the order of their studies."""
        names = {self._name(folder): folder for folder in self._all()}
        own = [n for n in names if where in ("", ".") or f"{n}/".startswith(f"{where}/")]
        return sorted((names[name] for name in own), key=study_order)

    def _all(self) -> Iterator[Path]:
        for file in self.top.rglob(PROVENANCE):
            folder = file.parent
            if all(self._is_inside(folder / name) for name in READ):
                yield folder

    def _is_inside(self, path: Path) -> bool:
        """Whether `path` is no link to somewhere outside."""
        return path.resolve().is_relative_to(self.top)

    def _version(self, folders: Sequence[Path]) -> str:
        signatures = "\n".join(f"{self._name(folder)} {_signature(folder)}" for folder in folders)
        return sha256(signatures.encode()).hexdigest()[:16]


def _signature(folder: Path) -> str:
    """Return what changes whenever a run has got further."""
    stats = []
    for name in (SUMMARY, ROUNDS, PROVENANCE, SCENARIO):
        path = folder / name
        stats.append((path.stat().st_mtime_ns, path.stat().st_size) if path.exists() else None)
    return f"{stats} {is_locked(folder)}"


def _row(folder: Path, name: str, link: str) -> Row:
    try:
        run = load(folder)
        return Row(
            name,
            link,
            _state(run),
            f"{run.n_rounds:,}{of_planned(run)}",
            formats.duration(run.end_s),
            _judged(run),
            str(run.provenance.get("started", "")),
        )
    except (SimflError, LookupError, TypeError, ValueError, AttributeError) as error:
        return Row(name, link, f"can't be read: {error}")


def _judged(run: RunResult) -> str:
    """Return the accuracy of the last model that was judged, or its error."""
    if run.error is None:
        return formats.percent(run.final_accuracy)
    name, value = run.error
    return f"{formats.metric(name)} {TEXT['number'](value)}"


def _state(run: RunResult) -> str:
    more = {"failed": f" {run.failure}", "stopped": "; simfl resume goes on"}
    return run.state + more.get(run.state, "")
