"""A scenario's network, bound to the devices of its fleet."""

from typing import Any

import numpy as np

from simfl.build.guarded import guarded_links
from simfl.build.occasions import jitter
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.errors import InputError
from simfl.scenario.scenario import Scenario
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.timeline import Timeline


def bind_links(scenario: Scenario, fleet: Fleet, seeds: Seeds, timeline: Timeline) -> Links:
    """Return the links of a run on `timeline`."""
    network, groups = scenario.network, scenario.fleet
    extra: dict[str, Any] = {}
    if any(group.cell is not None for group in groups):
        places = [
            -1 if group.cell is None else network.cell_names.index(group.cell) for group in groups
        ]
        extra["cells"] = np.repeat(places, [group.count for group in groups])
    if (variation := jitter(groups, fleet.groups, seeds, "link")) is not None:
        extra["variation"] = variation
    if network.reads_files:
        extra["folder"] = scenario.root
    own = fleet.downlink_bps, fleet.uplink_bps, fleet.latency_s
    with blaming(network, "binding its links", told_as=InputError):
        links = network.bind(timeline, *own, **extra)
        expect(isinstance(links, Links), "links of the fleet", links)
    return guarded_links(network, links)
