"""What a client is to do, in numbers: its plan, its errand, how long that should take."""

from dataclasses import replace

import numpy as np

from simfl.components.selectors.base import Probe, Report
from simfl.components.workloads.base import Assignment, Workload
from simfl.core.blame import blaming
from simfl.core.returned import expect
from simfl.core.seeds import Seeds
from simfl.core.types import Floats
from simfl.core.work import Plan, WorkOrder
from simfl.sim.errand import Errand
from simfl.sim.fleet import Fleet
from simfl.sim.networks.base import Links
from simfl.sim.server.participation import Participation
from simfl.sim.server.settings import SCALAR_BYTES, Settings
from simfl.sim.server.state import RunState
from simfl.sim.timeline import ROUNDING


class Planner:
    """Turns a selected client into an order and an errand.

    Args:
        state: of the run.
        fleet: the devices.
        links: their links.
        workload: what clients do when their time is short.
        seeds: the run's root of randomness.

    Attributes:
        extra_units: `(n,)` sample-units that participants spend on the selector's measurements.
        upload_bytes: what each uploads, these measurements included.
    """

    def __init__(
        self,
        state: RunState,
        fleet: Fleet,
        links: Links,
        workload: Workload,
        seeds: Seeds,
    ) -> None:
        self._state = state
        self._fleet = fleet
        self._links = links
        self._seeds = seeds
        self._workload = workload
        self._issues = np.zeros(len(fleet), dtype=np.int64)  # orders given so far
        self._checked: Plan | None = None  # last: mostly there is one for all
        self._client = -1  # whose part is planned
        self._versions: dict[int, int] = {}  # by client: the version that a probe has brought it
        self.follow()

    def follow(self, workload: Workload | None = None) -> None:
        """Plan by the state's settings from now on, and by `workload` (None: by the same)."""
        settings = self._state.settings
        self._workload = workload or self._workload
        self._planning = blaming(self._workload, self._doing)  # one for all: it is there each time
        self.extra_units, extra_bytes = _extras(settings, self._fleet)
        self.upload_bytes = settings.prices.up_bytes + extra_bytes

    def participation(
        self, client: int, limit_s: float, copies: int, tier: int, base: int | None = None
    ) -> tuple[Participation, bool]:
        """Return the part of `client`, and whether anything useful fits.

        Args:
            client: who.
            limit_s: what its work is planned for, seconds from now.
            copies: how often it was drawn.
            tier: which asks it.
            base: version of the model that it starts from (None: the global one).
        """
        state, prices = self._state, self._state.settings.prices
        base = state.version if base is None else base
        corrections = prices.correction_bytes or None
        download = corrections if self._holds(client, base) else prices.down_bytes
        issue = self._issues.item(client)
        seed = self._seeds.number("batches", client, issue)
        assignment = self._assignment(client, limit_s, seed, download)
        samples, size, steps = assignment.samples, assignment.batch_size, 0
        self._client = client
        with self._planning:
            # A workload may learn from what it plans, and who refuses takes no part.
            plan = None if self.refuses(client) else self._workload.plan(assignment)
            if plan is not None:
                if plan is not self._checked:
                    _check(plan)
                    self._checked = plan
                steps = plan.n_steps(samples, size)
                expect(steps > 0, "a step at least, or None to skip it", plan)
        order = WorkOrder(client, issue, state.round, base, plan or _NOTHING, seed)
        units = order.plan.units(samples, size) + self.extra_units.item(client)
        group = self._fleet.group(client)
        errand = Errand(client, group, download, units, self.upload_bytes)
        now_s = state.timeline.now
        part = Participation(state.round, order, errand, copies, now_s, steps, state.version, tier)
        return part, plan is not None

    def _doing(self) -> str:
        return f"planning for client {self._client} in round {self._state.round}"

    def refuses(self, client: int) -> bool:
        """Return whether the device of `client` has too little memory for training."""
        return not self._fleet.can_hold(client, self._state.settings.memory_bytes)

    def issued(self, order: WorkOrder) -> None:
        """Record that a client was given `order`; its next one has another number."""
        self._issues[order.client] = order.issue + 1

    def _assignment(
        self, client: int, limit_s: float, seed: int, download: int | None
    ) -> Assignment:
        """Return what a workload may know of a client; arguments as of `participation`.

        Args:
            client: who.
            limit_s: what its work is planned for, seconds from now.
            seed: of its order.
            download: bytes that it has to fetch (None: it has the model).
        """
        settings = self._state.settings
        phases: tuple[float, float, float, float] | None = None  # few workloads want to know

        def fits(units: float) -> bool:
            nonlocal phases
            phases = phases or self._phases(client, download)
            down_s, extra, rate, up_s = phases
            return (down_s + (units + extra) / rate) + up_s <= limit_s * (1 + ROUNDING)

        return Assignment(
            client=client,
            samples=self._fleet.samples.item(client),
            batch_size=settings.batch_size,
            epochs=settings.epochs,
            steps=settings.steps,
            fits=fits,
            rng_seed=seed,
            convex=settings.convex,
        )

    def _phases(self, client: int, download: int | None) -> tuple[float, float, float, float]:
        """Return the seconds, extra units, units a second and seconds of what `client` does."""
        down_s = 0.0 if download is None else self._links.expected_s(client, "down", download)
        up_s = self._links.expected_s(client, "up", self.upload_bytes)
        return down_s, self.extra_units.item(client), self._fleet.rate.item(client), up_s

    def finished(self, order: WorkOrder, units: float) -> tuple[WorkOrder | None, float]:
        """Return the order of the SGD steps finished after `units`, and the units it took.

        None if no step is finished.
        """
        done = order.plan.units_by_step(
            int(self._fleet.samples[order.client]), self._state.settings.batch_size
        )
        # Measurements come before training; a step that ends this very instant counts.
        extra = float(self.extra_units[order.client])
        steps = int(np.searchsorted(done, units * (1 + ROUNDING) - extra, side="right"))
        if not steps:
            return None, 0.0
        plan = replace(order.plan, stop_after=steps)
        return replace(order, plan=plan), float(done[steps - 1]) + extra

    def answer(self, probe: Probe, client: int) -> Errand:
        """Return what answering `probe` means for the device of `client`."""
        prices = self._state.settings.prices
        samples = all_samples = int(self._fleet.samples[client])
        if probe.report == "loss":
            samples = int(self._fleet.loss_samples[client])
        if probe.samples is not None:
            samples = min(samples, probe.samples)
        nominal = self._state.settings.nominal.units(all_samples, self._state.settings.batch_size)
        units = answer_units(probe.report, samples, nominal, self._state.settings.forward_units)
        size = {
            "loss": SCALAR_BYTES,
            "fc1_profile": prices.profile_bytes,
            "gradient": prices.model_bytes,
            "update": prices.update_bytes,
            "trial": prices.update_bytes,
        }[probe.report]
        fresh = probe.model == "trial" or not self._holds(client, self._state.version)
        group = self._fleet.group(client)
        return Errand(client, group, prices.model_bytes if fresh else None, units, size)

    def remember_model(self, client: int, version: int) -> None:
        """Record that `client` holds this version of the model."""
        self._versions[client] = version

    def _holds(self, client: int, version: int) -> bool:
        return self._versions.get(client) == version


_NOTHING = Plan()


def answer_units(report: Report, samples: int, nominal: float, forward: float) -> float:
    """Return the sample-units that an answer takes.

    Args:
        report: what is answered.
        samples: it is of so many.
        nominal: sample-units of a whole local training.
        forward: sample-units of a forward pass, of one sample.
    """
    if report in ("update", "trial"):
        return nominal
    return float(samples) if report == "gradient" else forward * samples


def _extras(settings: Settings, fleet: Fleet) -> tuple[Floats, int]:
    """Return what measurements beside an update cost each participant.

    Returns:
        `(n,)` sample-units of each device, and bytes on the way up.
    """
    units, size = np.broadcast_to(0.0, len(fleet)), 0
    for want in settings.wants:
        if want == "gradient":
            units, size = units + fleet.samples, size + settings.prices.model_bytes
            continue
        if want == "loss":
            units = units + settings.forward_units * fleet.loss_samples
        size += SCALAR_BYTES
    return units, size


def _check(plan: Plan) -> None:
    """Refuse what is no plan, or one of less than nothing."""
    expect(isinstance(plan, Plan), "a Plan, or None", plan)
    sizes = plan.full_epochs, plan.coreset_epochs, plan.coreset_size, plan.steps or 0
    whole = all(isinstance(size, int | np.integer) and size >= 0 for size in sizes)
    expect(whole, "whole numbers of epochs, samples and steps", plan)
    expect(0 <= plan.extra_units < np.inf, "extra units of zero or more", plan)
