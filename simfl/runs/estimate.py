"""What a run will cost on this machine, roughly: enough to order runs, and to tell small ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from simfl.build.shared_data import key_to_share
from simfl.components.datasets.base import Dataset
from simfl.components.selectors.base import Report, Selector
from simfl.core.blame import blaming
from simfl.core.component import overrides
from simfl.core.returned import expect
from simfl.core.work import Plan
from simfl.errors import InputError
from simfl.runs.options import Options
from simfl.runs.privacy import rounds_within
from simfl.scenario.scenario import Scenario
from simfl.sim.server.planning import answer_units

FLOPS, STEP_S = 6e10, 3e-4
"""Floating-point operations in a host second of one core, and host seconds of a mini-batch beside
its arithmetic, where PyTorch trains one client after the other: in the middle of W5 to W8 of
`benchmarks/results`, which make 2e10 to 2e11."""
STACKED_FLOPS, STACKED_STEP_S = 1e10, 2e-5
"""The same where it trains many at once, which it does with stacks of linear layers."""
COMPILED_FLOPS, COMPILED_STEP_S = 5e10, 3e-6
"""The same where the compiled kernel does: W1 and W3 of `benchmarks/results`, rounded down."""
PARTICIPATION_S = 3e-4
"""Host seconds that the clock, the log and the rest take of a participation."""
LOGGED_BYTES = {"full": (1350, 700), "rounds": (0, 700), "none": (0, 0)}
"""Bytes of events of a participation and of a round, by what is logged."""
ANSWER_BYTES = 240
"""Bytes of events of a selector's question and its answer, of one client, in a full log."""
ROW_BYTES, ROUND_ROW_BYTES = 150, 200
"""Bytes of a participation's row, and of a round's."""
PACKED = 1 / 4
"""Share of its bytes that a compressed log has, or less."""
ROUNDS = 100
"""Rounds that are reckoned with where a run ends by something else, after nobody knows how many."""
MOST_ROUNDS = 10**9
"""More are not looked for that privacy would end."""
SAMPLES, SAMPLES_EACH = 60_000, 600
"""Samples of a data set that tells only when it is loaded: so many, or so many per client."""
JUDGED = 1 / 6
"""Test samples for each training sample, as MNIST has."""
JUDGED_CLIENT_S = 1e-4
"""Host seconds that a client takes beside arithmetic, where each is judged by itself."""
PROCESS_BYTES = 3e8
"""Memory of a process that has imported PyTorch and simulates a small fleet."""
DEVICE_BYTES = 91
"""Memory of one device more (docs/scale.md)."""


@dataclass(frozen=True)
class Estimate:
    """What a run will take; it may be several times more or less.

    Attributes:
        rounds: until it ends; `ROUNDS` of them, where it ends by something else.
        counted: whether it ends by that number of rounds, at the latest, or about so many.
        host_s: host seconds on one core.
        training_s: of these, those of training, which several cores may share.
        together: updates that are trained at once, at most.
        memory_bytes: of its process.
        disk_bytes: of its folder.
        shared_bytes: of its memory, that of a data set which runs side by side have together.
        about: whether privacy ends it, after about so many rounds.
    """

    rounds: int
    counted: bool
    host_s: float
    training_s: float
    together: int
    memory_bytes: float
    disk_bytes: float
    shared_bytes: float = 0.0
    about: bool = False

    def lasts_s(self, cores: int) -> float:
        """Return the host seconds from its begin to its end, on so many cores.

        They share the training that takes long enough, as the executor `auto` does.
        """
        from simfl.training.executors.auto import PATIENCE_S, WORTH_S

        helpers = min(cores, self.together)
        if helpers < 2 or self.training_s <= max(PATIENCE_S, self.rounds * WORTH_S):
            return self.host_s
        return self.host_s - (self.training_s - PATIENCE_S) * (1 - 1 / helpers)


def estimate(scenario: Scenario, options: Options | None = None) -> Estimate:
    """Return what a run of `scenario` will take.

    Args:
        scenario: what is run.
        options: how; of where to compute it knows nothing.

    Raises:
        InputError: the selector can't tell what it will ask.
    """
    options = options or Options()
    limit = scenario.rounds.stop.rounds
    private = rounds_within(scenario, limit or MOST_ROUNDS)
    counted, rounds = (limit or private) is not None, private or limit or ROUNDS
    about = private is not None
    updates = scenario.rounds.policy.counted(scenario.rounds.clients)
    together = min(updates, scenario.devices)
    participations = rounds * scenario.rounds.policy.cohorts * together
    answers = _answers(scenario.selection, together, scenario.devices, rounds)
    asked = sum(answers.values()) if scenario.selection.charge_probes else 0
    clock_s = (participations + asked) * PARTICIPATION_S
    disk = _recorded(rounds, participations, asked, options)
    total = _samples(scenario)
    held, shared = _of_data(scenario, total)
    process = PROCESS_BYTES + DEVICE_BYTES * scenario.devices + held
    of_clock = Estimate(
        rounds=rounds,
        counted=counted,
        host_s=clock_s,
        training_s=0.0,
        together=together,
        memory_bytes=process,
        disk_bytes=disk,
        shared_bytes=shared,
        about=about,
    )
    if options.time_only:  # it loads the data, too: for who holds how much of what
        return of_clock
    from simfl.build.model_facts import model_facts

    facts, training = model_facts(scenario), scenario.training
    samples_each = max(scenario.data.partition.samples_each(total, scenario.devices), 1)
    batch = training.batch_size
    plan = Plan.nominal(training.epochs or 0, training.steps)
    evaluations = rounds / scenario.evaluation.every + scenario.evaluation.initial
    by_clients = scenario.evaluation.on == "clients"
    judged = total * (scenario.data.local_validation if by_clients else JUDGED)
    others_s = JUDGED_CLIENT_S * scenario.devices if by_clients else 0.0
    personal = facts.personal * 4.0 * min(participations, scenario.devices)
    rate, step_s = FLOPS, STEP_S
    if facts.stacked:
        rate, step_s = STACKED_FLOPS, STACKED_STEP_S
    if facts.compiled:
        rate, step_s = COMPILED_FLOPS, COMPILED_STEP_S
    nominal = plan.units(samples_each, batch)
    answered = sum(
        count * answer_units(report, samples_each, nominal, facts.forward_units)
        for report, count in answers.items()
    )
    trainings = participations + sum(answers.get(report, 0) for report in ("update", "trial"))
    trained = (participations * nominal + answered) * facts.flops
    training_s = trainings * plan.n_steps(samples_each, batch) * step_s + trained / rate
    return replace(
        of_clock,
        host_s=clock_s
        + training_s
        + evaluations * (others_s + judged * facts.forward_units * facts.flops / rate),
        training_s=training_s,
        memory_bytes=process + facts.parameters * 4.0 * (4 + scenario.rounds.clients) + personal,
        disk_bytes=disk + facts.parameters * 4.0 + personal,
    )


def _samples(scenario: Scenario) -> int:
    """Return how many training samples a scenario has, or is taken to have."""
    return scenario.data.dataset.samples_known or min(SAMPLES, SAMPLES_EACH * scenario.devices)


def _of_data(scenario: Scenario, total: int) -> tuple[float, float]:
    """Return the bytes of memory that `total` training samples and those beside them take.

    And how many of these are shared by runs side by side.
    """
    inputs = 4.0 * total * math.prod(scenario.data.dataset.shape()[0])
    if overrides(scenario.data.dataset, Dataset.lazy):  # made when a client trains
        return JUDGED * inputs, 0.0
    if key_to_share(scenario.data, None) is None:
        return 2.0 * inputs, 0.0
    shared = (1 + JUDGED) * inputs
    return shared + inputs * _copied(scenario), shared


def _copied(scenario: Scenario) -> float:
    """Return which part of a data set that runs share each run has a copy of: what it tests on."""
    if scenario.evaluation.on == "train":
        return 1.0
    return scenario.data.test_share if scenario.data.partition.pools_test else 0.0


def _answers(selector: Selector, clients: int, devices: int, rounds: int) -> Mapping[Report, int]:
    """Return how many answers of each kind `selector` says that it asks for in a whole run."""
    kinds = get_args(Report)
    with blaming(selector, "telling how many answers it asks for", told_as=InputError):
        answers = selector.answers(clients, devices, rounds)
        expect(
            isinstance(answers, Mapping)
            and answers.keys() <= {*kinds}
            and all(0 <= count < math.inf for count in answers.values()),
            f"how many of each of {', '.join(kinds)}",
            answers,
        )
    return answers


def _recorded(rounds: int, participations: int, asked: int, options: Options) -> float:
    """Return the bytes of a run's event log and tables.

    Args:
        rounds: of the run.
        participations: in all of them.
        asked: answers to a selector's questions.
        options: what is logged.
    """
    of_participation, of_round = LOGGED_BYTES[options.log]
    events = participations * of_participation + rounds * of_round
    events += asked * ANSWER_BYTES if options.log == "full" else 0
    rows = rounds * ROUND_ROW_BYTES + (0 if options.log == "none" else participations * ROW_BYTES)
    return rows + (PACKED * events if options.compress_log else events)
