"""What a scenario says that may not be what was meant: told, and done all the same."""

from collections.abc import Iterator

import numpy as np

from simfl.components.aggregators.dp_fedavg import DpFedAvg
from simfl.components.aggregators.dp_fedavg_adaptive import DpFedAvgAdaptive
from simfl.components.availability.week import in_words, most_at_once, quorum, soon_there, week_of
from simfl.components.compressors.top_k import TopK
from simfl.components.filters.cmfl import Cmfl
from simfl.components.models import linear_layers
from simfl.core.arguments import called
from simfl.core.blame import blaming
from simfl.core.ownership import users_own
from simfl.core.seeds import Seeds
from simfl.core.words import either
from simfl.errors import InputError
from simfl.scenario.distributions import Constant, Draw
from simfl.scenario.idle_settings import settings
from simfl.scenario.language.place import Location
from simfl.scenario.parts.correlation import SAMPLES
from simfl.scenario.parts.fleet import Group
from simfl.scenario.parts.rounds import LIMITS
from simfl.scenario.privacy import why_no_epsilon
from simfl.scenario.scenario import Scenario
from simfl.scenario.token_cautions import of_tokens

SHORTEST_BATCH_S = 1e-4
"""Less than PyTorch takes for a mini-batch of the smallest model on a desktop's core."""
LOUD = 1.2
"""So many times the noise that updates would get alone is worth a word."""
Caution = tuple[Location, str]
"""Where something stands, or could, and what is to be known of it."""


def cautions(scenario: Scenario) -> Iterator[Caution]:
    """Yield what of `scenario`, one variant, may not be what was meant."""
    yield from _of_correlations(scenario)
    yield from _of_samples(scenario)
    for path, idle, why in settings(scenario):
        if idle:
            yield path, f"without effect: {why}"
    model = scenario.model
    if model.frozen and model.weights_file is None and not users_own([model]):
        yield ("model", "frozen"), "stays at its random weights, because there is no `weights_file`"
    yield from of_tokens(scenario)
    yield from _of_filter(scenario)
    yield from _of_aggregation(scenario)
    yield from _of_attackers(scenario)
    yield from _of_privacy(scenario)
    yield from _of_quorum(scenario)
    yield from _of_speeds(scenario)


def never_met(scenario: Scenario, *, trains: bool) -> Iterator[Caution]:
    """Yield what may end no run, where it is about to be made.

    Args:
        scenario: one variant.
        trains: whether anything is to be trained.
    """
    if trains:
        if scenario.rounds.stop.by_model_alone:
            yield (
                ("rounds", "stop"),
                "names nothing that ends a run whose model never becomes so good; add "
                f"{either(LIMITS)}",
            )
        return
    for rule in ("accuracy", "target"):
        if getattr(scenario.rounds.stop, rule) is not None:
            yield (
                ("rounds", "stop", rule),
                f"without effect under {called('--time-only', 'time_only')}: what it asks of a "
                "model ends no run that trains none",
            )


def _of_samples(scenario: Scenario) -> Iterator[Caution]:
    """Yield a partition that deals each client more samples than there are."""
    data, known = scenario.data, scenario.data.dataset.samples_known
    each = data.partition.samples_each(known, scenario.devices) if known else 0
    if known and each > known:
        aside = data.local_validation > 0
        yield (
            ("data", "partition"),
            f"{each:,} of {known:,} samples for each client, so each holds some several times"
            + ("; others train on what it keeps aside by `local_validation`" if aside else ""),
        )


def _of_filter(scenario: Scenario) -> Iterator[Caution]:
    """Yield a filter by signs whose reference is 0 nearly everywhere, which no sign agrees with."""
    kept, sent = scenario.training.filter, scenario.training.compression
    if not isinstance(kept, Cmfl) or not isinstance(sent, TopK) or kept.stage != "client":
        return
    if kept.decay == "none" and sent.share < kept.threshold_at(1):
        yield (
            ("training", "filter"),
            f"every update may be kept back: {kept.threshold_at(1):.4g} of its signs must agree "
            "with the last change of the model, which is 0 wherever no client sent anything "
            f"(compression top_k: {100 * sent.share:.4g}% each)",
        )


def _of_aggregation(scenario: Scenario) -> Iterator[Caution]:
    """Yield an aggregation that was not chosen for the policy, and one that does not suit it."""
    policy, aggregator, path = scenario.rounds.policy, scenario.aggregation, ("aggregation",)
    if policy.goes_with and path[0] not in scenario.model_fields_set:
        suited = " or ".join(policy.goes_with)
        yield path, f"{aggregator.name}, not given; policy {policy.name!r} goes with {suited}"
    elif aggregator.discounts_stale and not policy.may_be_stale:
        yield path, f"its discount is without effect: under {policy.name!r} no update is stale"


def _of_attackers(scenario: Scenario) -> Iterator[Caution]:
    """Yield an aggregation that withstands fewer than attack in a round, on average."""
    attackers = sum(len(group) for group, _ in scenario.attackers.values())
    if not attackers:
        return
    aggregator, share = scenario.aggregation, attackers / scenario.devices
    clients = None if scenario.rounds.policy.may_be_stale else scenario.rounds.clients
    with blaming(aggregator, "telling what it withstands", told_as=InputError):
        option, most = aggregator.withstands(clients) or ("", 1.0)
    if share <= most:
        return
    many = f"{100 * share:.3g}% of those that come together"
    if clients is not None:
        many = f"{share * clients:.3g} of a round's {clients:,} clients"
    yield (
        ("aggregation", option),
        f"less than it is to withstand: {attackers:,} of {scenario.devices:,} devices attack, so "
        f"{many} on average",
    )


def _of_privacy(scenario: Scenario) -> Iterator[Caution]:
    """Yield why nobody will know what noise has protected, or would not want to."""
    aggregator, devices = scenario.aggregation, scenario.devices
    if not isinstance(aggregator, DpFedAvg):
        return
    if isinstance(aggregator, DpFedAvgAdaptive):
        times = aggregator.louder(scenario.rounds.clients)
        if times >= LOUD:
            yield (
                ("aggregation", "count_noise"),
                f"updates get {times:.3g} times the noise of 'dp_fedavg', to make up for so little",
            )
    if why := why_no_epsilon(scenario):
        yield ("aggregation",), f"no epsilon can be given: {why}"
    elif aggregator.delta * devices >= 1:
        yield (
            ("aggregation", "delta"),
            f"{aggregator.delta:g} is not below 1 / {devices:,} devices: publishing the data of "
            "one device, drawn at random, would be as private",
        )


def _of_quorum(scenario: Scenario) -> Iterator[Caution]:
    """Yield a quorum that is not once there in a week, as far as availability tells."""
    rounds, groups = scenario.rounds, scenario.fleet
    parts = [part for group in groups for _, part in group.presence.parts]
    if not rounds.policy.has_quorum or users_own(parts):
        return
    if rounds.policy.has_edges and rounds.min_clients is None:
        return  # no edge waits for more clients than it has, which only the drawn fleet tells
    seeds = Seeds(scenario.seed)
    try:
        with blaming(rounds.policy, "telling its quorum", told_as=InputError):
            asked = rounds.policy.quorum(rounds.clients)
        schedules = [
            (
                group.presence.schedule(group.count, seeds, scenario.root),
                group.count,
            )
            for group in groups
        ]
    except InputError:  # told by whoever looks for mistakes
        return
    if soon_there(schedules, rounds.min_clients or asked):
        return
    weeks = [week_of(*schedule) for schedule in schedules]
    least = quorum(weeks, rounds.min_clients, asked)
    if least > round(most := most_at_once(weeks)):
        yield (
            ("rounds", "clients" if rounds.min_clients is None else "min_clients"),
            f"a round begins once {least:,} clients are available at once; in a week never more "
            f"than {in_words(most, (group.count for group in groups))} of "
            f"{scenario.devices:,} devices are online",
        )


def _of_speeds(scenario: Scenario) -> Iterator[Caution]:
    """Yield FLOP/s that promise a mini-batch of a small model sooner than a device begins the next.

    Only of linear layers, whose FLOPs are known without PyTorch; others are hardly so small.
    """
    groups = {index: group for index, group in enumerate(scenario.fleet) if _in_flops(group)}
    flops = _linear_flops(scenario) if groups else None
    if flops is None:
        return
    for index, group in groups.items():
        samples_per_s = _median(group.compute) / flops
        if scenario.training.batch_size / samples_per_s < SHORTEST_BATCH_S:
            yield (
                ("fleet", index, "compute"),
                f"{samples_per_s:,.0f} samples/s, for so small a model: FLOP/s leave out the "
                "constant cost of each mini-batch; give samples/s",
            )


def _linear_flops(scenario: Scenario) -> int | None:
    """Return the FLOPs of training on one sample, of a model of linear layers (None: another)."""
    try:
        layers = linear_layers.layers_of(scenario.model, *scenario.inputs_and_outputs())
    except InputError:  # told by whoever looks for mistakes
        return None
    return None if layers is None else linear_layers.training_flops(layers)


def _in_flops(group: Group) -> bool:
    return "compute" not in group.traced and group.compute.unit == "FLOP/s"


def _median(draw: Draw) -> float:
    return float(draw.values(np.array([0.5]), np.array([1]))[0])


def _of_correlations(scenario: Scenario) -> Iterator[Caution]:
    """Yield the correlations of what all devices of a group have the same of."""
    for pair in scenario.correlate:
        for number in pair.split("~"):
            alike = [group.name for group in scenario.fleet if not _varies(group, number)]
            if alike:
                where = "" if len(alike) == len(scenario.fleet) else f" in {', '.join(alike)}"
                yield (
                    ("correlate", pair),
                    f"without effect{where}: every device has the same {number}",
                )


def _varies(group: Group, number: str) -> bool:
    """Whether devices of a group can differ in a number that correlations have a name for."""
    return number == SAMPLES or not isinstance(group.draw(number), Constant | None)
