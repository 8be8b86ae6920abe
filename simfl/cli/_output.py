"""What came of runs: printed, and written as pages; for all commands that make some."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer

from simfl.cli import _options as shared
from simfl.cli._aside import say_aside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simfl.report.progress import Board
    from simfl.runs.results.result import RunResult

LISTED = 20
"""Run folders that have a line each."""


@dataclass(frozen=True)
class Output:
    """In which ways it is wanted.

    Attributes:
        report: write pages and timelines, too.
        quiet: print nothing.
        as_json: print JSON, and nothing else.
    """

    report: bool
    quiet: bool
    as_json: bool

    @property
    def silent(self) -> bool:
        """Whether nothing is printed for people."""
        return self.quiet or self.as_json

    @contextmanager
    def of_runs(
        self, folders: "Sequence[Path]", top: Path, goes_on: str
    ) -> "Iterator[Board | None]":
        """Show how far the runs are that the body makes in `folders`, then what came of them.

        If some of them fail: what came of the others, before that is told.

        Args:
            folders: of the runs.
            top: of their study, where the page that compares them goes.
            goes_on: what goes on with them if they are interrupted.

        Raises:
            RunError: the pages can't be written; what came of the runs is printed all the same.
        """
        from simfl.errors import InputError, Interrupted, SimflError
        from simfl.runs.folder.folder import is_finished
        from simfl.runs.results.result import RunResult

        before = sum(map(is_finished, folders))
        try:
            with shared.progress(self.silent, goes_on) as board:
                yield board
        except Interrupted:  # whoever is in a hurry does not wait for pages
            raise
        except Exception as error:
            finished = [RunResult(folder) for folder in folders if is_finished(folder)]
            nothing_new = isinstance(error, InputError) and len(finished) <= before
            if finished and not nothing_new:
                with suppress(SimflError):
                    self._show(finished, top)
            raise
        self._show([RunResult(folder) for folder in folders], top)

    def _show(self, results: "Sequence[RunResult]", top: Path) -> None:
        from simfl.errors import RunError

        page, failure = "", None
        if self.report:  # first: whoever reads what is printed may leave
            try:
                with _after_the_runs(top):
                    page = _write(results, top)
            except RunError as error:
                failure = error
        if self.as_json:
            _print_json(results)
        elif not self.quiet:
            _tell(results, top)
        if failure is not None:
            raise failure
        if page and not self.silent:
            typer.echo(f"\nReport: {page}")


@contextmanager
def _after_the_runs(top: Path) -> Iterator[None]:
    """Say that the runs are done, and how to have their pages, if the body does not make these.

    Raises:
        RunError: it can't write or read something, or lacks memory, which is to be mended first; no
            input is wrong where a place can't be written to afterwards.
    """
    from simfl.core.machine.memory import is_out_of_memory, is_short_of_memory
    from simfl.errors import RunError, SimflError

    done, tells = "the runs are done", f"`simfl report {quote(str(top))}` tells"
    with shared.interruptible(f"{done}, {tells}"):
        try:
            yield
        except Exception as error:
            short = is_out_of_memory(error) or is_short_of_memory(error)
            if not (short or isinstance(error, SimflError)):
                raise
            why = f"too little memory ({error!r})" if short else error
            raise RunError(f"{why}; {done}; once that is mended, {tells}") from error


def _write(results: "Sequence[RunResult]", top: Path) -> str:
    """Write the pages of some runs, and that of their study if they are in `top`; tell where."""
    from simfl.report import write_reports

    study = top.resolve()
    in_study = all(study in run.folder.resolve().parents[1:2] for run in results)
    compared = _study(results, top) if in_study else results
    page = write_reports(results, top, compared)
    among = f" (all {len(compared)} runs there)" if len(compared) > len(results) else ""
    return f"{page}{among}"


def _study(results: "Sequence[RunResult]", top: Path) -> "list[RunResult]":
    """Return some runs and all others of their study, but for those that can't be read."""
    from simfl.errors import InputError
    from simfl.runs.results.find import runs_of_study

    own, runs = {run.folder: run for run in results}, list["RunResult"]()
    for run in runs_of_study(top):
        try:
            runs.append(own.get(run.folder) or run.read())
        except InputError as error:
            say_aside(f"note: left out of the report: {error}")
    return runs


def _print_json(results: "Sequence[RunResult]") -> None:
    import json

    told = [{"folder": str(r.folder), "variant": r.variant, **r.summary} for r in results]
    typer.echo(json.dumps(told, indent=2))


def _tell(results: "Sequence[RunResult]", top: Path) -> None:
    """Print what came of some runs, for people."""
    from simfl.report.comparison.forms import render
    from simfl.runs.results.compare import compare

    typer.echo(render(compare(results), "table").rstrip())
    trainings = [result.summary["trainings"] for result in results if not result.time_only]
    saved, issued = (sum(t[key] for t in trainings) for key in ("dropped", "issued"))
    if saved:
        typer.echo(f"\n{saved:,} of {issued:,} trainings were dropped and never computed.")
    _tell_short_rounds(results)
    if any(result.oracle for result in results):
        typer.echo("A selector was an ORACLE: it saw what no server can know.")
    if len(results) > LISTED:
        typer.echo(f"\nRun folders: {len(results)} below {top}")
        return
    typer.echo("\nRun folders:")
    for result in results:
        typer.echo(f"  {result.folder}")


def _tell_short_rounds(results: "Sequence[RunResult]") -> None:
    """Say in a line per variant how often fewer clients took part than were asked for."""
    from simfl.report.formats import plural
    from simfl.runs.results.grouping import by_variant

    for variant, own in by_variant(results).items():
        short, rounds = sum(run.short_rounds for run in own), sum(run.n_rounds for run in own)
        if short:
            some = f"{short:,} of {plural(rounds, 'round')}"
            typer.echo(f"{variant}: {some} had fewer clients than asked for.")
