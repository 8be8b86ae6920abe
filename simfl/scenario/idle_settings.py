"""Settings of a scenario that may change nothing, beside others that it has."""

import math
from collections.abc import Iterator

from simfl.components.aggregators.base import Aggregator
from simfl.components.aggregators.fednova import FedNova
from simfl.components.aggregators.trimmed_mean import TrimmedMean
from simfl.components.datasets.generated import Generated
from simfl.components.models.base import Model
from simfl.components.selectors.base import Selector
from simfl.components.workloads.base import Workload
from simfl.components.workloads.coreset import CoresetTraining
from simfl.components.workloads.full import Full
from simfl.core.apportion import whole_share
from simfl.core.component import overrides
from simfl.core.ownership import users_own
from simfl.scenario.distributions import Constant, Draw
from simfl.scenario.language.place import Location
from simfl.scenario.scenario import Scenario
from simfl.sim.policies.base import RoundPolicy
from simfl.sim.policies.synchronous import Synchronous

Setting = tuple[Location, bool, str]
"""Where it stands, or could, whether it is sure to change nothing, and why it does not."""


def settings(scenario: Scenario) -> Iterator[Setting]:
    """Yield settings that may change nothing.

    What components of the user's own do with settings is not known.
    """
    yield from _of_fleet(scenario)
    made = scenario.data.local_validation > 0 and type(scenario.data.dataset) is Generated
    yield (
        ("data", "local_validation"),
        made,
        "samples that are made on demand are not kept aside",
    )
    yield from _of_weights(scenario.model)
    policy, workload, selection = (
        scenario.rounds.policy, scenario.training.workload, scenario.selection
    )  # fmt: skip
    if not users_own([policy, workload]):
        yield ("training", "workload"), *_of_workload(policy, workload)
    if isinstance(workload, CoresetTraining) and not users_own([workload, workload.method]):
        free = {workload.method.uses(convex) for convex in (False, True)} <= {"inputs", "none"}
        path = ("training", "workload", "feature_cost")
        yield path, workload.feature_cost > 0 and free, "this coreset needs no pass over the data"
    asks = overrides(selection, Selector.probe) or bool(selection.wants)
    idle = not (selection.charge_probes or asks)
    yield ("selection", "charge_probes"), idle, "it asks clients nothing"
    if type(policy) is Synchronous:
        yield from _of_rounds(policy)
        yield _of_trimming(policy, scenario.aggregation, scenario.rounds.clients)
        yield (
            ("aggregation",),
            _is_fedavg(scenario, policy),
            "with equally many steps for all, FedNova is FedAvg",
        )


def _of_fleet(scenario: Scenario) -> Iterator[Setting]:
    for index, group in enumerate(scenario.fleet):
        limited = {"downlink", "uplink"} & group.traced or not all(
            _is_unlimited(draw) for draw in (group.downlink, group.uplink)
        )
        jitters = group.link_jitter is not None and not users_own([scenario.network])
        why = "its links have no limit that could vary"
        yield ("fleet", index, "link_jitter"), jitters and not limited, why
        stays = group.availability.name == "always" and group.battery is None
        idle = group.on_offline != "abort" and stays
        yield ("fleet", index, "on_offline"), idle, "its devices are always online"
        rounds = scenario.rounds.stop.rounds or math.inf
        never = group.attack is not None and group.attack.from_round > rounds
        yield (
            ("fleet", index, "attack"),
            never,
            f"the run ends with round {rounds:g}, before the attack begins",
        )


def _of_weights(model: Model) -> Iterator[Setting]:
    drawn = getattr(model, "init", "pytorch") != "pytorch"
    given = model.weights_file is not None and not users_own([model])
    whole = given and not model.reinitialised
    yield ("model", "init"), drawn and whole, "weights are those of `weights_file`"
    lone = bool(model.reinitialised) and model.weights_file is None
    yield ("model", "reinitialised"), lone, "there is no `weights_file`, so all are drawn"


def _of_workload(policy: RoundPolicy, workload: Workload) -> tuple[bool, str]:
    """Return whether a workload asks all for the nominal work, as it would not if time was short.

    And why time is not.
    """
    timed = policy.yardstick is not None and policy.enforces
    gives_way = workload.asks_all(timed=False) and not workload.asks_all(timed=True)
    if policy.call_off is not None and policy.call_off.option == "timeout":
        why = "work is not planned for a timeout, by which clients are called off"
    else:
        why = "there is no deadline, so no client is short of time"
    return gives_way and not timed, why


def _of_rounds(policy: Synchronous) -> Iterator[Setting]:
    untimed, of_all = policy.deadline is None, policy.over_select == 1
    why = "there is no deadline"
    yield ("rounds", "policy", "enforce"), untimed and not policy.enforce, why
    yield (
        ("rounds", "policy", "late"),
        policy.late == "carry" and of_all and (untimed or not policy.enforce),
        why if untimed else "the deadline is not enforced",
    )


def _of_trimming(policy: Synchronous, aggregator: Aggregator, clients: int) -> Setting:
    idle = (
        type(aggregator) is TrimmedMean
        and policy.late == "drop"
        and not whole_share(aggregator.trim, clients)
    )
    return ("aggregation", "trim"), idle, f"this share of {clients} updates is less than one"


def _is_fedavg(scenario: Scenario, policy: Synchronous) -> bool:
    """Whether the aggregation is FedNova, and all make as many steps, at the same rates."""
    training = scenario.training
    return (
        type(scenario.aggregation) is FedNova
        and policy.late == "drop"
        and training.steps is not None
        and type(training.workload) is Full
        and all(group.on_offline != "salvage" for group in scenario.fleet)
    )


def _is_unlimited(draw: Draw) -> bool:
    return isinstance(draw, Constant) and draw.value == math.inf
