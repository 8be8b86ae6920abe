"""Options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from simfl.cli import _complete

if TYPE_CHECKING:
    from simfl.runs.options import Options

Executor = Annotated[
    str,
    typer.Option(
        "--executor",
        help="Where to train: auto, inline, processes or ray.",
        autocompletion=_complete.executors,
    ),
]
Workers = Annotated[
    int | None, typer.Option("--workers", min=1, help="Processes that train (default: all cores).")
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, help="Runs at once (default: as many as cores and memory allow)."
    ),
]
Device = Annotated[str, typer.Option("--device", help="cpu, cuda or auto.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Where data sets lie, as torchvision's root (default: $SIMFL_DATA)."
    ),
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="A Ray cluster (default: $RAY_ADDRESS, or local)."),
]
Report = Annotated[
    bool, typer.Option("--report/--no-report", help="Write report.html and trace.json.")
]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Import any module:Class that the scenario names; it runs."),
]
Log = Annotated[
    str,
    typer.Option(
        "--log",
        help="What is recorded: full; rounds (no events of clients); none (nor rows of them).",
    ),
]
CompressLog = Annotated[
    bool, typer.Option("--compress-log", help="Write events.jsonl.zst instead of events.jsonl.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the summaries as JSON.")]


def options(
    executor: str,
    workers: int | None,
    device: str,
    data_dir: Path | None,
    ray_address: str | None,
    time_only: bool = False,
    jobs: int | None = None,
    log: str = "full",
    compress_log: bool = False,
) -> "Options":
    """Return how to run; more than one worker means worker processes unless said otherwise."""
    from simfl.runs.options import Options

    if workers is not None and executor in ("auto", "inline"):
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
