"""`simfl calibrate`: from measurements of a pilot to the fleet of a scenario."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from simfl.build.calibration.calibrate import Device


@app.command("calibrate")
def calibrate_command(
    file: Annotated[
        Path, typer.Argument(help="CSV: client, samples, epochs; seconds and bytes of each phase.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the fleet here (default: print it).")
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, help="Number of devices (default: as measured).")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Draw the errors and the distributions to this file."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an existing file at --out.")
    ] = False,
    latency: Annotated[
        str,
        typer.Option(
            "--latency", help="One-way latency, where it can't be separated from the rates."
        ),
    ] = "0 s",
) -> None:
    """Fit a fleet to measured participations, and report the errors."""
    import math

    import yaml

    from simfl.build.calibration.calibrate import calibrated
    from simfl.build.calibration.calibrated_fleet import fleet
    from simfl.build.calibration.measurements import measurements
    from simfl.core.files import write_output
    from simfl.errors import InputError
    from simfl.report import calibration_picture
    from simfl.report.figures.savefig import check_picture, save
    from simfl.runs.folder.outside import require_place

    if out is not None:
        require_place(out, "--out")
        if out.exists() and file.exists() and out.samefile(file):
            raise InputError(f"--out: {out} has the measurements; give another name")
        if out.exists() and not overwrite:
            raise InputError(f"--out: {out} exists already; give --overwrite or another name")
    if picture is not None:
        check_picture(picture, "--picture")
    table = measurements(file)
    devices = calibrated(table, shared.seconds("--latency", latency))
    groups = fleet(devices, count)
    _tell(table, devices, latency)
    text = f"# simfl calibrate {file.name}\n" + yaml.safe_dump(
        {"fleet": groups}, sort_keys=False, default_flow_style=None, width=math.inf
    )
    if out is None:
        typer.echo("\n" + text, nl=False)
    else:
        write_output(out, text.encode())
        typer.echo(f"Fleet: {out}")
    if picture is not None:
        save(calibration_picture.picture(devices), picture)
        typer.echo(f"Picture: {picture}")


def _tell(table: "pd.DataFrame", devices: "Sequence[Device]", latency: str) -> None:
    """Print what was found of each device, and what was not measured."""
    from statistics import median

    from simfl.build.calibration.calibrate import left_out, without_latency
    from simfl.report.formats import duration, plural

    typer.echo(
        f"{'client':<16}{'samples/s':>12}{'down Mbit/s':>12}{'up Mbit/s':>12}{'latency ms':>12}"
        "   median error of download, compute, upload"
    )
    for device in devices:
        typer.echo(_line(device))
    for why in left_out(table):
        typer.echo(f"left out: {why}")
    told = plural(len(devices), "device")
    if alike := without_latency(table):
        typer.echo(
            f"latency: not measured of {len(alike)} of {told}, whose messages are "
            f"all of one size; {latency} is assumed (--latency)"
        )
    if constants := [device.constant_s for device in devices if device.constant_s > 0]:
        typer.echo(
            f"constant: trainings of {len(constants)} of {told} take "
            f"{duration(median(constants))}, in the median, whatever their size; half of it is in "
            "the latency before each transfer, above, too, where it is too long a round trip for "
            "`network.initial_window`"
        )


def _line(device: "Device") -> str:
    numbers = (
        device.compute,
        device.downlink / 1e6,
        device.uplink / 1e6,
        1000 * device.latency_s,
    )
    wrong = [device.residuals[phase] for phase in ("download", "compute", "upload")]
    return (
        f"{device.client:<16}"
        + "".join(f"{number:>12.4g}" for number in numbers)
        + "   "
        + ", ".join(f"{error:.1%}" for error in wrong)
    )
