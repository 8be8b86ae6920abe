"""Components that do what they must not, from round 2 on, until they are mended."""

import math
import sys
import time
from typing import Any, ClassVar

import numpy as np
from pydantic import Field
from torch import nn

from simfl.components.aggregators.fedavg import FedAvg
from simfl.components.availability.always import Always
from simfl.components.compressors.none import NoCompression
from simfl.components.datasets.synthetic_images import SyntheticImages
from simfl.components.filters.none import NoFilter
from simfl.components.losses.cross_entropy import CrossEntropy
from simfl.components.models.logistic_regression import LogisticRegression
from simfl.components.optimizers.sgd import Sgd
from simfl.components.schedules.constant import Constant
from simfl.components.selectors.base import Probe
from simfl.components.selectors.uniform import Uniform
from simfl.components.workloads.full import Full
from simfl.core.work import Plan
from simfl.sim.networks.base import Links
from simfl.sim.networks.shared import Shared
from simfl.sim.policies.base import RoundPolicy
from simfl.sim.policies.synchronous import Synchronous
from simfl.training.executors.inline import Inline


class Mended:
    """Whether they behave."""

    yes: ClassVar[bool] = False


def forever():
    """Return only once it is mended, or nobody has interrupted it for long."""
    for _ in range(3000):
        if Mended.yes:
            return
        time.sleep(0.01)
    raise TimeoutError


class FaultySelector(Uniform):
    """Chooses as `fault` says."""

    fault: str = Field(description="what it does wrong")

    def probe(self, view, reports, rng):
        return 3 if self.fault == "asks in numbers" and not Mended.yes else None

    def select(self, view, reports, k, rng):
        chosen = super().select(view, reports, k, rng)
        if Mended.yes or view.round < 2:
            return chosen
        return {
            "raises": lambda: dict[str, Any]()["nothing"],
            "unknown": lambda: [99],
            "negative": lambda: [-1],
            "too many": lambda: view.available,
            "fractions": lambda: chosen + 0.5,
            "none": lambda: None,
            "nobody": lambda: [],
            "rewrites": lambda: view.history.loss.fill(0),
            "rewrites ids": lambda: view.available.fill(0),
            "forever": forever,
            "exits": lambda: sys.exit(0),
        }[self.fault]()


class FaultyAggregator(FedAvg):
    """Returns what `fault` says."""

    fault: str = Field(description="what it does wrong")

    def aggregate(self, model, contributions):
        new = super().aggregate(model, contributions)
        if Mended.yes:
            return new
        return {
            "raises": lambda: new @ np.zeros(2),
            "nan": lambda: new * np.nan,
            "infinite": lambda: new + np.inf,
            "shape": lambda: new[:-1],
            "type": lambda: new.astype(np.float64),
            "list": lambda: new.tolist(),
            "in place": lambda: np.add(model, new - model, out=model),
            "in bases": lambda: np.multiply(contributions[0].base, 0, out=contributions[0].base),
            "forever": forever,
            "exits": lambda: sys.exit(0),
        }[self.fault]()


class FaultyCorrector(FedAvg):
    """Corrects gradients as `fault` says."""

    corrects: ClassVar[bool] = True
    fault: str = Field(description="what it does wrong")

    def correction(self, client):
        zeros = np.zeros(386, dtype=np.float32)
        if Mended.yes:
            return zeros
        return {
            "short": lambda: zeros[:3],
            "nan": lambda: zeros * np.nan,
            "some": lambda: zeros if client % 2 else None,
        }[self.fault]()


class AsksForEver(Uniform):
    """Never has enough."""

    def probe(self, view, reports, rng):
        return Probe("loss", view.available[:1])


class NeverOpens(Synchronous):
    """Aggregates for rounds that it has not begun."""

    def run(self, server):
        if Mended.yes:
            yield from super().run(server)
        else:
            yield from server.aggregate([])


class FaultyCompressor(NoCompression):
    """Compresses as `fault` says."""

    fault: str = Field(description="what it does wrong")

    def compress(self, update, rng):
        if self.fault == "in place" and not Mended.yes:
            update *= 0.5
        odd = {"nan": np.float32(np.nan), "infinite": np.float32(np.inf)}.get(self.fault)
        return update if Mended.yes or odd is None else update * odd

    def size(self, parameters):
        return {"negative": -4, "fraction": 0.5}.get(self.fault, 4 * parameters)


class FaultyWorkload(Full):
    """Plans as `fault` says."""

    fault: str = Field(description="what it does wrong")

    def plan(self, assignment):
        if Mended.yes:
            return super().plan(assignment)
        return {
            "number": 5,
            "negative": Plan(-1),
            "nothing": Plan(),
            "gains": Plan(1, extra_units=-9.0),
        }[self.fault]


class FaultyOptimizer(Sgd):
    """Makes steps as `fault` says."""

    fault: str = Field(description="what it does wrong")

    @property
    def plain(self):
        return False

    @property
    def buffers(self):
        return 0 if Mended.yes else {"fractions": 1.5, "less than none": -1}.get(self.fault, 0)

    def update(self, params, gradient, rates, memory, step):
        if not Mended.yes:
            {
                "raises": lambda: dict[str, Any]()["nothing"],
                "shape": lambda: params.add_(gradient.new_zeros(3, 3, 3, 3)),
                "forever": forever,
                "exits": lambda: sys.exit(0),
                "nan": lambda: params.mul_(float("nan")),
                "infinite": lambda: params.add_(float("inf")),
                "elsewhere": lambda: None,
            }[self.fault]()
            if self.fault == "elsewhere":
                return params - gradient
        params.sub_(gradient)
        return None


class FaultyLoss(CrossEntropy):
    """Is what `fault` says."""

    fault: str = Field(description="what it does wrong")

    @property
    def softmax(self):
        return False

    def rows(self, outputs, targets):
        rows = super().rows(outputs, targets)
        if Mended.yes:
            return rows
        return {
            "raises": lambda: dict[str, Any]()["nothing"],
            "none": lambda: None,
            "shape": lambda: outputs,
            "constant": lambda: rows.detach(),
            "nan": lambda: rows * float("nan"),
        }.get(self.fault, lambda: rows)()

    def hits(self, outputs, targets):
        hits = super().hits(outputs, targets)
        if Mended.yes:
            return hits
        faults = {"no judge": lambda: 1 / 0, "7 out of 1": lambda: 0 * hits + 7}
        return faults.get(self.fault, lambda: hits)()


class FaultyAsking(Uniform):
    """Asks what nobody can answer."""

    def probe(self, view, reports, rng):
        return None if Mended.yes else Probe("accuracy", view.available)  # type: ignore[arg-type]


class FaultyShowing(Uniform):
    """Shows what is no arrays by name."""

    def diagnostics(self):
        return {} if Mended.yes else [1, 2]


class FaultyFilter(NoFilter):
    """Chooses as `fault` says."""

    fault: str = Field(description="what it does wrong")

    @property
    def stage(self):
        return "server"

    def choose(self, updates, reference, round_):
        everybody = super().choose(updates, reference, round_)
        if Mended.yes:
            return everybody
        return {
            "mask": [True] * len(updates),
            "twice": [*everybody, *everybody],
            "turned": everybody[::-1],
            "unknown": [99],
        }[self.fault]


class FaultyKeeper(NoFilter):
    """Forgets to return what it thinks of an update."""

    @property
    def stage(self):
        return "client"

    def keep(self, update, reference, round_):
        return True if Mended.yes else None


class FaultyAvailability(Always):
    """Tells what `fault` says."""

    fault: str = Field(description="what it does wrong")

    def schedule(self, devices, group, seeds, folder):
        return _FaultyTimes(self.fault, super().schedule(devices, group, seeds, folder))


class _FaultyTimes:
    def __init__(self, fault, schedule):
        self._fault, self._schedule = fault, schedule

    def online(self, devices, now_s):
        there = self._schedule.online(devices, now_s)
        if Mended.yes:
            return there
        return {
            "raises": lambda: dict[str, Any]()["nothing"],
            "numbers": lambda: there.astype(int),
        }.get(self._fault, lambda: there)()

    def next_change_s(self, device, now_s):
        odd = {"backwards": now_s, "stays": now_s + 5, "nothing": None}
        if self._fault in odd and not Mended.yes:
            return odd[self._fault]
        return self._schedule.next_change_s(device, now_s)

    def next_online_s(self, now_s):
        return self._schedule.next_online_s(now_s)


class FaultyNetwork(Shared):
    """Moves bytes as `fault` says."""

    fault: str = Field(description="what it does wrong")

    def bind(self, *args, **options):
        return _FaultyLinks(self.fault, super().bind(*args, **options))


class _FaultyLinks(Links):
    def __init__(self, fault, links):
        self._fault, self._links = fault, links

    def duration_s(self, device, direction, size):
        lasts_s = self._links.duration_s(device, direction, size)
        if Mended.yes:
            return lasts_s
        return {
            "raises": lambda: dict[str, Any]()["nothing"],
            "negative": lambda: -1.0,
            "nan": lambda: math.nan,
            "text": lambda: "1 s",
        }[self._fault]()

    def expected_s(self, device, direction, size):
        return self._links.expected_s(device, direction, size)

    def transfer(self, device, direction, size):
        return self._links.transfer(device, direction, size)


class FaultyExecutor(Inline):
    """Loses a result."""

    def train(self, batch):
        results = super().train(batch)
        return results if Mended.yes else results[1:]


class FaultySchedule(Constant):
    """Gives what `fault` says."""

    fault: str = Field(description="what it does wrong")

    def multiplier(self, round_, epoch=0, epochs=1):
        if Mended.yes or round_ < 2:
            return 1.0
        return {
            "raises": lambda: dict[str, Any]()["nothing"],
            "nan": lambda: float("nan"),
            "negative": lambda: -1.0,
            "text": lambda: "1.0",
            "none": lambda: None,
        }[self.fault]()


class Endless(Synchronous):
    """Loops where it should wait for events."""

    def run(self, server):
        server.open_round()
        forever()
        yield from super().run(server)


class HelperRaises(Synchronous):
    """Spawns a process that raises."""

    def run(self, server):
        if not Mended.yes:
            server.spawn(self._help(server))
        yield from super().run(server)

    def _help(self, server):
        yield server.timeline.timeout(1)
        raise LookupError("no help")


class EndlessHelper(HelperRaises):
    """Spawns a process that loops where it should wait for events."""

    def _help(self, server):
        yield server.timeline.timeout(1)
        forever()


class FaultyData(SyntheticImages):
    """Is made as `fault` says."""

    fault: str = Field("forever", description="what it does wrong")

    def load(self, folder, seeds):
        if not Mended.yes:
            {"forever": forever, "exits": lambda: sys.exit(0)}[self.fault]()
        return super().load(folder, seeds)


class FaultyModel(LogisticRegression):
    """Does what `fault` says, in its forward pass."""

    fault: str = Field("forever", description="what it does wrong")

    def build(self, shape, classes):
        return nn.Sequential(super().build(shape, classes), _Faulty(self.fault))


class _Faulty(nn.Module):
    def __init__(self, fault):
        super().__init__()
        self.fault = fault

    def forward(self, x):
        if not Mended.yes and x.device.type != "meta":
            return {"forever": forever, "exits": lambda: sys.exit(0), "nan": lambda: x * math.nan}[
                self.fault
            ]()
        return x


class EndsEarly(Synchronous):
    """Ends before anything has been learnt."""

    def run(self, server):
        if Mended.yes:
            yield from super().run(server)
        server.open_round()
        yield server.timeline.timeout(1)


class YieldsSeconds(Synchronous):
    """Waits for a number."""

    def run(self, server):
        if not Mended.yes:
            server.open_round()
            yield 3.0
        yield from super().run(server)


class NoGenerator(RoundPolicy):
    """Runs at once."""

    def run(self, server):
        server.open_round()


class Raises(Synchronous):
    """Raises in its first round."""

    def run(self, server):
        if not Mended.yes:
            server.open_round()
            raise LookupError("nobody home")
        yield from super().run(server)
