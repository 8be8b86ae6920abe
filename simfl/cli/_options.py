"""Options that several commands share, each declared once, and what is made of them."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from simfl.cli import _complete

if TYPE_CHECKING:
    from simfl.report.progress import Board
    from simfl.runs.options import Options

# What to look at -------------------------------------------------------------------------------

Folders = Annotated[
    list[Path], typer.Argument(metavar="RUN_DIR", help="Run folders, or folders of them.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a key of the scenario; can be repeated. A mapping changes the keys that it "
        "names and leaves the others; null removes a key: rounds.stop.accuracy=null.",
    ),
]
Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", metavar="NAME", help="Only this variant; can be repeated."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Use this seed instead of the scenario's.")
]
Seeds = Annotated[
    str | None, typer.Option("--seeds", help="Repeat with each of these: 0-4, or 1,2,3.")
]
AllowCode = Annotated[
    bool,
    typer.Option(
        "--allow-code",
        help="Import any module:Class that the scenario names; this runs its code. Remembered for "
        "code beside the scenario, until it changes.",
    ),
]

# How to run it ---------------------------------------------------------------------------------

Executor = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where to train: auto, inline, processes or ray.",
        autocompletion=_complete.executors,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="Worker processes for training (default: all cores)."),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, help="Runs at once (default: as many as cores and memory allow)."
    ),
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda or auto.")]
TimeOnly = Annotated[bool, typer.Option("--time-only", help="Run the clock without training.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        help="Folder of data sets, as torchvision's root (default: $SIMFL_DATA, or the cache).",
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="A Ray cluster (default: $RAY_ADDRESS, or local)."),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace earlier results in the same folders.")
]
Log = Annotated[
    str,
    typer.Option(
        "--log",
        help="full: all events; rounds: no client events; none: no events, no rows in clients.csv.",
    ),
]
CompressLog = Annotated[
    bool,
    typer.Option(
        "--compress-log",
        help="Write events.jsonl.zst instead of events.jsonl; equal runs have the same lines in "
        "it, not always the same bytes.",
    ),
]

# What to show ----------------------------------------------------------------------------------

Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write report.html and trace.json.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def format_option(formats: Sequence[str]) -> Any:
    """Return the option `--format`, which names one of `formats`; see `require_format`."""
    return typer.Option(
        "--format", help=", ".join(formats), autocompletion=_complete.one_of(*formats)
    )


def require_format(form: str, formats: Sequence[str]) -> None:
    """Refuse a format that there is not.

    Raises:
        InputError: it is none of `formats`; names the nearest.
    """
    from simfl.errors import InputError, nearest

    if form not in formats:
        raise InputError(f"--format: unknown format {form!r}{nearest(form, formats)}")


def options(
    executor: str = "auto",
    workers: int | None = None,
    data_dir: Path | None = None,
    ray_address: str | None = None,
    *,
    device: str = "cpu",
    time_only: bool = False,
    jobs: int | None = None,
    log: str = "full",
    compress_log: bool = False,
) -> "Options":
    """Return how to run; more than one worker means worker processes unless said otherwise.

    Raises:
        InputError: an option is unknown, or does not go with another.
    """
    from simfl.errors import InputError
    from simfl.runs.options import Options

    if ray_address is not None and executor != "ray":
        raise InputError(f"--ray-address is for --executor ray, not {executor}")
    if executor == "auto" and workers is not None and workers > 1:
        executor = "processes"
    extra = {} if ray_address is None else {"address": ray_address}
    return Options(
        executor=executor,
        workers=workers,
        jobs=jobs,
        device=device,
        time_only=time_only,
        data_dir=data_dir,
        executor_options=extra,
        log=cast("Literal['full', 'rounds', 'none']", log),
        compress_log=compress_log,
    )


def parse_seeds(text: str | None) -> list[int] | None:
    """Return the seeds that --seeds lists; None: it was not given.

    Raises:
        InputError: it lists none.
    """
    from simfl.scenario.parts import experiment

    with naming("--seeds"):
        return None if text is None else experiment.parse_seeds(text)


def seconds(option: str, text: str) -> float:
    """Return the duration that an option is.

    Raises:
        InputError: it is none.
    """
    from simfl.core.units import DURATION, parse_quantity

    with naming(option):
        return parse_quantity(text, DURATION)


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Name the option that does not fit, if anything inside says so.

    Raises:
        InputError: it does not.
    """
    from simfl.errors import InputError

    try:
        yield
    except ValueError as error:
        raise InputError(f"{option}: {error}") from None


def importing(allow_code: bool) -> AbstractContextManager[None]:
    """Let scenarios import anything with --allow-code, else only what was allowed before."""
    from simfl.cli._consent import consent
    from simfl.core import code

    return code.importing(consent(allow_code))


@contextmanager
def progress(quiet: bool, goes_on: str, passing: bool = False) -> Iterator["Board | None"]:
    """Show progress while the body runs (see `display`); if interrupted, say what `goes_on`."""
    from simfl.report.progress import display

    with display(quiet, passing) as board, interruptible(goes_on):
        yield board


@contextmanager
def interruptible(goes_on: str) -> Iterator[None]:
    """Say what `goes_on` with the body if it is interrupted.

    Raises:
        Interrupted: it was.
    """
    from simfl.errors import Interrupted

    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted; {goes_on}") from None
