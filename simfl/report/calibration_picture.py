"""How well a calibration fits, drawn: errors of each phase, and distributions if there are any."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from simfl.build.calibration.calibrate import Device
from simfl.build.calibration.calibrated_fleet import compute_noise, distributed, lognormal
from simfl.report.figures.looks import PHASES, finish

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERS: dict[str, Callable[[Device], float]] = {
    "download": lambda device: device.downlink,
    "compute": lambda device: device.compute,
    "upload": lambda device: device.uplink,
}
"""By the phase whose colour it gets: a device's rate."""


def picture(devices: Sequence[Device]) -> "Figure":
    """Return a matplotlib figure: errors of all participations, those of each device, and rates.

    The rates are there where a group has devices enough for a distribution.
    """
    from matplotlib.figure import Figure

    many = distributed(devices)
    panels = 3 if many else 2
    figure = Figure(figsize=(4.5 * panels, 4), layout="constrained")
    errors, medians, *rates = figure.subplots(1, panels)
    _errors(errors, devices)
    _medians(medians, devices)
    for axes in rates:
        _rates(axes, many)
    for axes in (errors, medians, *rates):
        finish(axes)
    return figure


def _errors(axes: "Axes", devices: Sequence[Device]) -> None:
    for phase, colour in PHASES.items():
        values = 100 * np.sort(np.concatenate([device.errors[phase] for device in devices]))
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        axes.step(values, share, where="post", color=colour, label=phase)
    axes.axvline(0, color="0.4", lw=0.8)
    axes.set(title="Fitted against measured", xlabel="error (%)", ylabel="% of participations")


def _medians(axes: "Axes", devices: Sequence[Device]) -> None:
    for phase, colour in PHASES.items():
        medians = sorted(100 * device.residuals[phase] for device in devices)
        axes.plot(np.arange(1, len(medians) + 1), medians, ".-", color=colour, label=phase)
    axes.set(title="Median error of each device", xlabel="devices, the best first", ylabel="%")
    axes.set_ylim(bottom=0)


def _rates(axes: "Axes", groups: Sequence[Sequence[Device]]) -> None:
    """Draw the rates of each group's devices, in medians, and the distributions they become."""
    for members in groups:
        for phase, rate in NUMBERS.items():
            values = np.sort([rate(device) for device in members])
            noise = compute_noise(members) if phase == "compute" else 0.0
            median, sigma = lognormal(values, noise)
            share = 100 * (np.arange(len(values)) + 0.5) / len(values)
            label = phase if members is groups[0] else None
            axes.plot(values / median, share, ".", color=PHASES[phase], label=label)
            if sigma > 0:
                grid = np.exp(np.linspace(-3 * sigma, 3 * sigma, 200))
                drawn = 100 * ndtr([math.log(x) / sigma for x in grid])
                axes.plot(grid, drawn, color=PHASES[phase], lw=0.8)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(title="Rates, and what is drawn from", xlabel="of the median", ylabel="% of devices")
