"""What a scenario leaves to defaults that decide its result: said, so that nobody is surprised."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import BaseModel

from simfl.components.datasets.base import Dataset
from simfl.components.datasets.own.base import OwnDataset
from simfl.errors import InputError
from simfl.scenario.checks import is_to_be_built
from simfl.scenario.language.place import Location, dotted
from simfl.scenario.parts.fleet import lacks_count
from simfl.scenario.scenario import Scenario


class Assumption(NamedTuple):
    """Something that was assumed, not given: where it could be, and what holds instead."""

    path: Location
    value: str

    def __str__(self) -> str:
        return f"{dotted(self.path)}: {self.value}"


DECISIVE = {
    "data": ("partition",),
    "training": ("epochs", "batch_size"),
    "rounds": ("clients", "stop"),
}
"""Besides those of the fleet: keys whose defaults decide what comes out, by section."""
SEEDS = (("seed",), ("seeds",))
"""What each run has, wherever it was said."""


def assumptions(scenario: Scenario) -> list[Assumption]:
    """Return what `scenario` does not say and its result depends on, in the order of its keys."""
    return [
        *_of_seeds(scenario), *_of_learning(scenario), *_of_model(scenario), *_of_fleet(scenario),
        *_of_network(scenario),
    ]  # fmt: skip


def _of_seeds(scenario: Scenario) -> Iterator[Assumption]:
    if isinstance(seed := _written(scenario).get("seeds"), int):  # how many, or which?
        yield Assumption(("seeds",), f"one run, with seed {seed} (several: 0-{max(seed - 1, 1)})")
    elif not scenario.seeds and not _says(scenario, "seed"):
        yield Assumption(("seed",), f"{scenario.seed}, and one run")


def _of_learning(scenario: Scenario) -> Iterator[Assumption]:
    written = _written(scenario)
    for section, keys in DECISIVE.items():
        part = getattr(scenario, section)
        for key in keys:
            given = written.get(section)
            # Where there is a document it knows best: some defaults are filled in before reading.
            known = isinstance(given, dict) and given.get(key) is not None
            if known or (not written and _says(part, key)):
                continue
            if key != "epochs" or scenario.training.steps is None:
                more = _left_out(scenario) if key == "partition" else ""
                yield Assumption((section, key), _told(getattr(part, key)) + more)
    yield from _of_inputs(scenario.data.dataset)
    optimizer = scenario.training.optimizer
    if not _says(optimizer, "lr"):
        yield Assumption(("training", "optimizer", "lr"), f"{optimizer.lr:g}")


def _of_inputs(dataset: Dataset) -> Iterator[Assumption]:
    """Say that a user's own measurements are not scaled, where nobody asked for that."""
    if not isinstance(dataset, OwnDataset) or dataset.tokens or _says(dataset, "normalise"):
        return
    ends = ""
    with suppress(InputError):  # told by whoever looks for mistakes
        ends = ", from {:.4g} to {:.4g}".format(*dataset.ends)
    yield Assumption(("data", "dataset", "normalise"), f"none, inputs as they are read{ends}")


def _left_out(scenario: Scenario) -> str:
    """Say how many of the data set's own clients take part, where some do not."""
    with suppress(InputError):  # told by whoever looks for mistakes
        known = scenario.data.own_clients
        if known is not None and known > scenario.devices:
            return f", {scenario.devices:,} of the data set's own {known:,} clients"
    return ""


def _of_model(scenario: Scenario) -> Iterator[Assumption]:
    if not is_to_be_built(scenario.model):
        return
    from simfl.training.architecture import architecture_of

    with suppress(InputError):  # told by whoever looks for mistakes
        architecture = architecture_of(scenario.model, *scenario.inputs_and_outputs())
        if architecture.batch_norm:
            yield Assumption(
                ("model",),
                "batch norm by each batch's own statistics, in evaluations too; no running ones",
            )
        if architecture.frozen:
            yield Assumption(
                ("model", "frozen"),
                f"devices hold these {architecture.frozen:,} parameters from the start; they are "
                "never sent",
            )
        if architecture.personal:
            sent = "they are never sent"
            if architecture.all_personal:
                sent = "they are the whole model, so nothing is sent"
            yield Assumption(
                ("model", "personal"),
                f"each device trains its own copy of these {architecture.personal:,} parameters, "
                f"all from the same initial values; {sent}",
            )


def _of_fleet(scenario: Scenario) -> Iterator[Assumption]:
    defaults = {
        "compute": "100 samples/s",
        "downlink": "unlimited",
        "uplink": "unlimited",
        "latency": "0 s",
        "availability": "always online",
    }
    if lacks_count(_written(scenario).get("fleet")):
        yield Assumption(
            ("fleet", 0, "count"), f"{scenario.devices}, one for each of the data set's clients"
        )
    for index, group in enumerate(scenario.fleet):
        for key, value in defaults.items():
            if not _says(group, key) and key not in group.traced:
                yield Assumption(("fleet", index, key), value)
        if group.battery is not None and group.power is None:
            yield Assumption(("fleet", index, "power"), "0 W, so its batteries never drain")


def _of_network(scenario: Scenario) -> Iterator[Assumption]:
    far = any(_says(group, "latency") or "latency" in group.traced for group in scenario.fleet)
    network, key = scenario.network, "initial_window"
    if far and key in type(network).model_fields and not _says(network, key):
        yield Assumption(("network", key), "0 B (no slow start: links are at their rate at once)")


def _written(scenario: Scenario) -> dict[str, Any]:
    """Return the plain data of the document that a scenario was read from ({}: of none)."""
    return {} if scenario._document is None else scenario._document.data


def _says(part: BaseModel, key: str) -> bool:
    return key in part.model_fields_set


def _told(value: object) -> str:
    """Return a value as a user would write it, in a few words."""
    if isinstance(value, BaseModel):
        name = getattr(value, "name", "")
        options = value.model_dump(mode="json", exclude_none=True)
        return str(name) or ", ".join(f"{number} {key}" for key, number in options.items())
    return str(value)
