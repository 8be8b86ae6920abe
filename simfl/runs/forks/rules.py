"""What a fork may change: the rules that are in force from then on, not what made the past."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from simfl.core.evaluation import Evaluation
from simfl.core.rows import MOVED
from simfl.errors import InputError
from simfl.scenario import Scenario
from simfl.scenario.language.place import flat
from simfl.scenario.privacy import privacy_of, why_no_epsilon
from simfl.sim.timeline import ROUNDING

RULES = ("training", "rounds", "selection", "aggregation")
"""Parts of a scenario that a fork may change: what the server and its clients do.  All others say
what there is: fleet, network, data, model, how models are judged; so does `training.loss`."""


def refuse_another_past(
    before: Scenario, after: Scenario, at_s: float, past: Callable[[], Iterable[Mapping[str, Any]]]
) -> None:
    """Refuse changes that would have made other events of the `past`.

    Args:
        before: the scenario in force so far.
        after: that of the fork.
        at_s: when it begins.
        past: returns the events until then; it may be asked more than once.

    Raises:
        InputError: there are such changes.
    """
    old, new = (flat(scenario.to_dict()) for scenario in (before, after))
    changed = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    fixed = [
        path
        for path in changed
        if path.partition(".")[0] not in RULES or path.startswith("training.loss")
    ]
    problems = [f"{path}: a fork can't change that, it made the past what it is" for path in fixed]
    allowed = [f"a fork may change {', '.join(RULES)}; all else: run anew"] if fixed else []
    if any(path.startswith("rounds.stop") for path in changed):
        problems += _ended_before(after, at_s, past())
    problems += _of_privacy(before, after, past)
    if problems:
        raise InputError("\n".join([*problems, *allowed]))


def _ended_before(
    scenario: Scenario, at_s: float, past: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Yield the stopping rules that were met before the fork."""
    stop = scenario.rounds.stop
    told = [e for e in past if e["event"] in ("round_end", "evaluated")]
    rounds = [e for e in told if e["event"] == "round_end" and e["round"] > 0]
    in_flight = rounds[-1] if rounds else {}
    reached = {
        "rounds": len(rounds),
        "time": at_s,
        "bytes": sum(row[size] for row in rounds for size in MOVED)
        + in_flight.get("in_flight_bytes", 0),
        "energy": sum(row["energy_j"] for row in rounds) + in_flight.get("in_flight_energy_j", 0.0),
        "accuracy": max(
            (e["accuracy"] or 0.0 for e in told if e["event"] == "evaluated"), default=0
        ),
    }
    units = {"time": " s", "bytes": " B", "energy": " J"}
    for rule, value in reached.items():
        limit = getattr(stop, rule)
        rounding = ROUNDING if rule in ("time", "energy") else 0.0  # as the server looks at them
        if limit is not None and value >= limit * (1 - rounding):
            numbers = [f"{number:,.7g}{units.get(rule, '')}" for number in (limit, value)]
            yield f"rounds.stop.{rule}: {numbers[0]} was reached before, {numbers[1]} by then"
    if stop.target is not None:
        judge = scenario.criteria.reached
        judged = [e for e in told if e["event"] == "evaluated"]
        met = [e for e in judged if judge(Evaluation.recorded(e), stop.target)]
        if met:
            first = f"{stop.target} was reached before, in round {met[0]['round']}"
            yield f"rounds.stop.target: {first}"


def _of_privacy(
    before: Scenario, after: Scenario, past: Callable[[], Iterable[Mapping[str, Any]]]
) -> Iterator[str]:
    """Yield why a fork could not end by privacy spent before a client has spent more."""
    limit, privacy = after.rounds.stop.epsilon, privacy_of(after)
    if limit is None or privacy is None:
        return
    untold, heard = False, Counter[int]()
    for event in past():
        if event["event"] == "round_end":
            untold = event.get("epsilon") is None
        elif event["event"] == "participation" and event["outcome"] == "arrived":
            heard[event["client"]] += 1
    terms = [(privacy_of(scenario), why_no_epsilon(scenario)) for scenario in (before, after)]
    if untold or terms[0] != terms[1]:
        yield "rounds.stop.epsilon: no epsilon can be given: the rules have changed on the way"
        return
    if privacy.exceeds((most := max(heard.values(), default=0)) + 1, limit):
        yield (
            f"rounds.stop.epsilon: {limit:.7g} could be exceeded in the round that is under way, "
            f"{privacy.of(most):.7g} was spent before"
        )
