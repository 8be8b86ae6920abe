"""The scenario with devices as the first half of a real run shows them to be."""

from collections.abc import Iterator, Sequence

from simfl import Scenario
from simfl.build.builder import Builder
from simfl.build.calibration.calibrate import Device, calibrated
from simfl.build.calibration.calibrated_fleet import fleet
from simfl.errors import InputError
from simfl.scenario.parts.fleet import Group
from testbed.given import server_is_limited
from testbed.journals import Run
from testbed.orders import participations


def calibrate(scenario: Scenario, builder: Builder, real: Run) -> Scenario | None:
    """Return the scenario with the devices, and the server, of the first half of the rounds.

    None where somebody never sent an update, where a link is shared, or where clients are killed:
    `simfl calibrate` knows nothing of these.
    """
    leaves = any(group.availability.name != "always" for group in scenario.fleet)
    if leaves or server_is_limited(scenario):
        return None
    units = builder.settings.nominal.units
    samples = [units(int(n), builder.settings.batch_size) for n in builder.fleet.samples]
    pilot = participations(real, range(len(real.rounds) // 2)).reset_index()
    if real.by_flower:  # what Flower polls for is no transfer
        pilot["download_s"] = pilot.download_end_s - pilot.received_s
    table = pilot.assign(
        group="devices", samples=[samples[client] for client in pilot.client], epochs=1
    ).sort_values("client", kind="stable")
    try:
        devices = calibrated(table)
    except InputError:
        return None
    if len(devices) < scenario.devices:
        return None
    between_s = max(between_rounds_s(real), 0.0)
    policy = scenario.rounds.policy.model_copy(update={"server_time": between_s})
    rounds = scenario.rounds.model_copy(update={"policy": policy})
    groups = tuple(_groups(scenario, devices))
    return scenario.model_copy(update={"fleet": groups, "rounds": rounds})


def between_rounds_s(real: Run) -> float:
    """Return the median seconds from a round's close to the next one's begin, of the first half."""
    pilot = real.rounds.iloc[: max(len(real.rounds) // 2, 1)]
    return float((pilot.end_s - pilot.closed_s).median())


def _groups(scenario: Scenario, devices: Sequence[Device]) -> Iterator[Group]:
    """Yield a group for each device, with what was found of it."""
    groups = [group for group in scenario.fleet for _ in range(group.count)]
    for group, device in zip(groups, devices, strict=True):
        [found] = fleet([device])  # many together would be a sample of a distribution
        yield group.model_validate(found)
