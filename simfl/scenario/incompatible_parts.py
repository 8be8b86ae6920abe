"""What can't go together in a scenario and is no single component's concern."""

import math
import re
from collections.abc import Iterator

from simfl.components.metrics.base import quality_metrics
from simfl.core.arguments import called
from simfl.core.blame import blaming
from simfl.core.circumstances import Circumstances
from simfl.core.costs import TUNED
from simfl.core.target import MetricTarget, metric_of
from simfl.core.words import either, numbered
from simfl.errors import MEANT, InputError, nearest
from simfl.scenario.criteria import measured_names
from simfl.scenario.distributions.data_size import DataSize
from simfl.scenario.language.place import Location
from simfl.scenario.looked_up import lookups
from simfl.scenario.parts.correlation import Correlations
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.parts.rounds import LIMITS
from simfl.scenario.parts.tune import EXPECTED, Tune
from simfl.scenario.personal import personal
from simfl.scenario.privacy import privacy_of, why_no_epsilon

Objection = tuple[Location, str]
"""Where something can't go with the rest, and why."""
_JUDGES = re.compile(r"training(\.loss\b|$)|evaluation\b")
"""Paths that say by what models are judged."""


def incompatible_parts(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield what concerns no component alone."""
    yield from _of_rounds(scenario, facts)
    if scenario.rounds.policy.has_edges:
        yield from _of_edges(scenario)
    yield from _of_targets(scenario)
    yield from _of_tune(scenario)
    if facts.trains:
        yield from _of_judging(scenario, facts)
    yield from personal(scenario, facts)
    yield from _of_energy(scenario, facts)
    yield from _of_privacy(scenario)
    yield from _of_augmentation(scenario, facts)
    if all(not group.presence.ever_online for group in scenario.fleet):
        yield ("fleet",), "no device is ever online"
    if scenario.data.partition.pools_test and not scenario.data.test_share:
        yield ("data", "test_share"), "must be above 0: there would be nothing to test on"
    yield from _of_groups(scenario)
    yield from lookups(scenario, look=facts.folder is not None)
    yield from _of_samples(scenario, facts)


def _of_rounds(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield numbers of clients that there are not, and an end that never comes."""
    devices = numbered(facts.devices, "device")
    if facts.clients > facts.devices:
        yield (
            ("rounds", "clients"),
            f"{facts.clients} clients per round, but the fleet has only {devices}",
        )
    if (scenario.rounds.min_clients or 0) > facts.devices:
        yield (
            ("rounds", "min_clients"),
            f"{scenario.rounds.min_clients} clients to begin a round, but the fleet has only "
            f"{devices}",
        )
    if not facts.trains and scenario.rounds.stop.by_model_alone:
        what = " and no ".join(sorted(facts.ends_by))
        yield (
            ("rounds", "stop"),
            f"needs {either(LIMITS)}: under {called('--time-only', 'time_only')} no {what} is "
            "ever reached",
        )


def _of_edges(scenario: Experiment) -> Iterator[Objection]:
    """Yield what makes no sense where clients send to edge servers."""
    policy, aggregator = scenario.rounds.policy, scenario.aggregation
    with blaming(aggregator, "weighing updates", told_as=InputError):
        suits = aggregator.is_mean
    if not suits:
        yield (
            ("aggregation",),
            f"aggregator {aggregator.name!r} can't go with policy {policy.name!r}, by which edges "
            "and the cloud average models; it needs 'fedavg'",
        )
    if policy.needs_cells:
        for index, group in enumerate(scenario.fleet):
            if group.cell is None:
                yield ("fleet", index), "has no `cell`, and edges are the cells of the network"
    for link in ("server_downlink", "server_uplink"):
        if getattr(scenario.network, link, math.inf) < math.inf:
            yield (
                ("network", link),
                f"under policy {policy.name!r} no client has a link to the server; what an edge's "
                "clients share is a cell (`network.cells`), and its link to the cloud is the "
                "policy's `uplink` and `downlink`",
            )


def _of_judging(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield samples to judge models on that there are none of."""
    on = scenario.evaluation.on
    if facts.deals_itself and scenario.model.personal:
        yield (
            ("model", "personal"),
            f"data set {facts.dataset!r} makes a client's samples only when it trains: none keeps "
            "any aside, which is all that models with personal layers can be judged on",
        )
    elif facts.deals_itself and on != "test":
        yield (
            ("evaluation", "on"),
            f"data set {facts.dataset!r} makes a client's samples only when it trains; use test",
        )
    elif on == "clients" and not scenario.data.local_validation:
        yield (
            ("evaluation", "on"),
            "no client keeps samples aside to evaluate on; give a share in "
            "`data.local_validation`, such as 20%",
        )
    elif scenario.model.personal and on != "clients":
        yield (
            ("evaluation", "on"),
            f"with personal layers each client has its own model, so there is none for the {on} "
            "samples of all; give `evaluation: {on: clients}`, and keep samples aside for it by "
            "`data.local_validation`",
        )
    if scenario.model.personal and facts.withheld_by:
        yield (
            ("training", "filter"),
            f"filter {facts.withheld_by!r} keeps updates back on devices, and what then becomes of "
            "their personal layers nobody has said",
        )


def _of_targets(scenario: Experiment) -> Iterator[Objection]:
    """Yield values of what evaluations don't measure, and such as no model can have."""
    targets = enumerate(scenario.evaluation.targets)
    asked: list[tuple[Location, float | None]] = [
        *((("evaluation", "targets", place), target) for place, target in targets),
        (("rounds", "stop", "target"), scenario.rounds.stop.target),
    ]
    for path, target in asked:
        if isinstance(target, MetricTarget) and (why := scenario.criteria.why_unreachable(target)):
            yield path, why


def _of_tune(scenario: Experiment) -> Iterator[Objection]:
    """Yield an objective of which nothing will be known, unless variants or choices change that."""
    tune = scenario.tune
    if tune is None or scenario.variants or any(map(_JUDGES.match, tune.parameters)):
        return
    if why := why_no_objective(tune, scenario):
        yield ("tune", "objective"), why


def why_no_objective(tune: Tune, scenario: Experiment) -> str:
    """Return why runs of `scenario` don't tell what `tune` asks for ("": they do)."""
    loss, target, measured = scenario.training.loss, tune.target, tune.measured
    criteria = scenario.criteria
    known = criteria.named
    if isinstance(target, MetricTarget):
        return criteria.why_unreachable(target)
    if "accuracy" not in known and "accuracy" in (measured, target and metric_of(target)):
        instead = f"a target such as '{loss.error or 'loss'} 0.5'" if target else "'loss'"
        return f"loss {loss.name!r} has no accuracy; the objective may be {instead}"
    if measured in TUNED:
        return ""
    if measured not in {*known, *measured_names(), *quality_metrics.names()}:
        hint = nearest(measured, [*TUNED, *known])
        hint = hint if hint.startswith(MEANT) else ""
        return f"{EXPECTED}, or one of {', '.join(known)}, got {tune.objective!r}{hint}"
    return criteria.why_incomparable(measured)


def _of_energy(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield an end by energy, where nothing takes any."""
    at_work = any(group.power is not None and group.power.at_work for group in scenario.fleet)
    if scenario.rounds.stop.energy is not None and not scenario.powered:
        yield ("rounds", "stop", "energy"), "no group of the fleet says what `power` it takes"
    elif facts.ends_by == {"energy"} and not at_work:
        yield (
            ("rounds", "stop"),
            "needs more than energy: work takes no `power` in any group, and who never waits for "
            "others takes none at all",
        )


def _of_privacy(scenario: Experiment) -> Iterator[Objection]:
    """Yield an end by privacy spent, where nobody knows it, or the first round spends more."""
    if (limit := scenario.rounds.stop.epsilon) is None:
        return
    place, privacy = ("rounds", "stop", "epsilon"), privacy_of(scenario)
    if why := why_no_epsilon(scenario):
        yield place, f"no epsilon can be given: {why}"
    elif privacy is not None and privacy.exceeds(1, limit):
        least = math.ceil(1000 * privacy.of(1)) / 1000
        yield (
            place,
            f"must be at least {least:g}, which the first round spends, at delta {privacy.delta:g}",
        )


def _of_augmentation(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield what the data set's samples do not allow."""
    how = scenario.training.augmentation
    if how.of_images() is None:
        return
    if len(facts.shape) != 3:
        yield ("training", "augmentation"), f"data set {facts.dataset!r} has no images"
    elif how.crop and scenario.data.dataset.black is None:
        yield (
            ("training", "augmentation", "crop"),
            "images are normalised pixel by pixel, so that a crop has no border of one colour",
        )
    elif how.crop >= (side := min(facts.shape[1:])):
        yield (
            ("training", "augmentation", "crop"),
            f"must be below {side}, the side of an image, but got {how.crop}: some crops would "
            "hold nothing of it",
        )


def _of_samples(scenario: Experiment, facts: Circumstances) -> Iterator[Objection]:
    """Yield traces that say how many samples devices hold, where others say it too, or not all."""
    partition = scenario.data.partition
    telling = [index for index, group in enumerate(scenario.fleet) if group.tells_samples]
    for index in telling:
        if facts.deals_itself:
            why = f"data set {facts.dataset!r} says itself how many samples devices hold"
        elif not partition.deals_sizes:
            why = f"partition {partition.name!r} says itself how many samples devices hold; use iid"
        elif len(telling) < len(scenario.fleet):
            rest = next(i for i in range(len(scenario.fleet)) if i not in telling)
            why = f"`samples` of all groups or of none: fleet[{rest}] does not say how many"
        else:
            continue
        yield ("fleet", index, "trace"), why


def _of_groups(scenario: Experiment) -> Iterator[Objection]:
    """Yield groups of one name, cells that there are not, and what can't be correlated in one."""
    cells, first = scenario.network.cell_names, dict[str, int]()
    correlated = Correlations.of(scenario.correlate).names
    for index, group in enumerate(scenario.fleet):
        if (twin := first.setdefault(group.name, index)) != index:
            yield (
                ("fleet", index, "name"),
                f"another group, fleet[{twin}], is called {group.name!r} too; each has a name of "
                "its own",
            )
        if group.cell is not None and group.cell not in cells:
            hint = nearest(group.cell, cells) or "; it has no cells"
            yield ("fleet", index, "cell"), f"the network has no cell {group.cell!r}{hint}"
        for name in correlated:
            if name in group.traced:
                yield (
                    ("correlate",),
                    f"{name} can't be correlated: fleet[{index}] takes it from a trace",
                )
            elif isinstance(group.draw(name), DataSize):
                yield (
                    ("correlate",),
                    f"{name} can't be correlated: fleet[{index}] has it follow the data sizes; "
                    "correlate samples instead, or give it another distribution",
                )
