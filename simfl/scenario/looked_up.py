"""Rows and records of devices that are looked up by the client whose data a device holds."""

from collections.abc import Iterator, Sequence

from simfl.components.availability.base import Availability
from simfl.components.partitions.natural import Natural
from simfl.core.ownership import users_own
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.scenario.language.place import Location
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.fleet import Group


def lookups(scenario: Experiment, look: bool) -> Iterator[tuple[Location, str]]:
    """Yield what is looked up by clients that nobody names, or that have no row or record.

    Args:
        scenario: one variant.
        look: whether to look into files: of some data it is known before they are dealt, which
            client each device holds the data of.
    """
    names = _names(scenario) if look and scenario.data.partition.deals_natural else None
    first = 0
    for index, group in enumerate(scenario.fleet):
        mine = None if names is None else names[first : first + group.count]
        first += group.count
        for key in (key for key, asks in group.by_name.items() if asks):
            if not scenario.data.partition.deals_natural:
                yield (
                    ("fleet", index, key),
                    "only clients of your own data have names to be looked up by: it needs "
                    "`data.partition: natural`",
                )
            elif names == ():
                yield ("fleet", index, key), nameless(scenario)
                break  # and so the others
        if mine:
            yield from (
                (("fleet", index, *path), why) for path, why in _missing(scenario, group, mine)
            )


def nameless(scenario: Experiment) -> str:
    """Say that the clients of a scenario's data have no names."""
    return (
        f"data set {scenario.data.dataset.name!r} does not say what its clients are called; your "
        "own does, with `client`"
    )


def _names(scenario: Experiment) -> Sequence[str] | None:
    """Return what the client is called whose data each device holds.

    Empty: they have no names; None: it is not known before the data are dealt.
    """
    data, devices = scenario.data, scenario.devices
    known = data.dataset.names_known
    if not known or devices > len(known):
        return () if known == () else None
    if users_own([data.partition]) or not isinstance(data.partition, Natural):
        return None
    if devices == len(known):
        return known  # if one has nothing to train on, they are too few
    if data.dataset.natural_known is None:
        return None
    dealt = data.partition.choose(len(known), devices, Seeds(scenario.seed).stream("partition"))
    return [known[client] for client in dealt.tolist()]


def _missing(
    scenario: Experiment, group: Group, names: Sequence[str]
) -> Iterator[tuple[Location, str]]:
    """Yield the files of a group that lack one of the clients of these `names`."""
    for trace in group.trace:
        if trace.by_client:
            try:
                trace.of_clients(names)
            except InputError as error:
                yield ("trace",), str(error)
    asked: list[tuple[Location, Availability]] = [(("availability",), group.availability)]
    if group.battery is not None and group.battery.plugged is not None:
        asked.append((("battery", "plugged"), group.battery.plugged))
    for path, availability in asked:
        if availability.by_name and not users_own([availability]):
            try:
                availability.for_clients(names).schedule(
                    group.count, group.name, Seeds(scenario.seed), scenario.root
                )
            except InputError as error:
                yield path, str(error)
