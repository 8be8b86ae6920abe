"""How rounds are run, and when a run ends."""

import re
from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, WithJsonSchema, model_validator

from simfl.core.target import NamedTarget
from simfl.core.units import DataSize, Duration, Energy, Percent, parse_share
from simfl.core.words import either
from simfl.errors import InputError
from simfl.scenario.parts.part import WORKED_OUT, Count, Part
from simfl.sim.policies.base import RoundPolicy, policies


class Stop(Part):
    """When a run ends: whichever comes first."""

    rounds: Count | None = Field(
        None, description="number of finished rounds, including those in which nothing arrived"
    )
    time: Duration | None = Field(None, gt=0, description="virtual time")
    accuracy: Percent | None = Field(None, gt=0, description="reached at an evaluation")
    target: NamedTarget | None = Field(
        None,
        description="a value of something else that evaluations measure, such as rmse 0.5, loss "
        "0.5 or macro_f1 0.8; reached by a model that is as good or better",
    )
    bytes: DataSize | None = Field(
        None,
        gt=0,
        description="total moved by the end of a round, in both directions, in finished transfers",
    )
    energy: Energy | None = Field(
        None,
        gt=0,
        description="total spent at work by the end of a round, in finished phases",
    )
    epsilon: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        None,
        description="privacy spent, as in `rounds.csv`, with an aggregation that tells it, such as "
        "dp_fedavg: the run ends before the round in which a client could come to have spent more",
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError(f"expected at least one of {either([*type(self).model_fields])}")
        return self

    @property
    def by_model_alone(self) -> bool:
        """Whether nothing ends the run but how good its model is."""
        return self.model_dump(exclude_none=True).keys().isdisjoint(LIMITS)


LIMITS = tuple(rule for rule in Stop.model_fields if rule not in ("accuracy", "target"))
"""Keys of `rounds.stop` that end a run however good its model is."""


class ShareOfFleet(float):
    """A share of the fleet, until the size of the fleet is known."""


def _clients(value: Any) -> int | ShareOfFleet:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole or isinstance(value, ShareOfFleet):
        if value < 1 and whole:
            raise InputError(f"must be at least 1, but got {value}")
        return value  # type: ignore[no-any-return]
    is_share = re.fullmatch(r"\s*[-+.\d]+\s*%\s*|0?\.\d+", str(value))
    if is_share and (share := parse_share(value)):
        return ShareOfFleet(share)
    raise InputError(
        "expected a number of clients such as 10, or a share of the fleet such as '10%', got "
        f"{value!r}" + ("; write it without quotes" if str(value).isdecimal() else "")
    )


def _without_default(schema: dict[str, Any]) -> None:
    """Say no default: 0 stands for one that depends on the fleet, and is none to write."""
    schema.pop("default", None)


Clients = Annotated[
    int,
    PlainValidator(_clients),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "%$"}]}
    ),
]


class Rounds(Part):
    """How the server runs its rounds."""

    policy: Annotated[RoundPolicy, policies] = Field(
        default_factory=policies.make,
        description="which clients the server waits for, and how long",
    )
    clients: Annotated[Clients, WORKED_OUT] = Field(
        0,
        description="selected per round: a number, or a share of the fleet; omitted: 10, or all",
        json_schema_extra=_without_default,
    )
    min_clients: Count | None = Field(
        None,
        description="quorum: a round begins once this many clients are available: online, and not "
        "at work; omitted: as many as are asked, or all who are not at work and will ever be "
        "available, so that nobody waits for who is carried over",
    )
    stop: Stop = Field(default_factory=lambda: Stop(rounds=100), description="when the run ends")

    @model_validator(mode="after")
    def _quorum(self) -> Self:
        if self.min_clients is not None and not self.policy.has_quorum:
            raise ValueError(
                f"min_clients: policy {self.policy.name!r} waits for no quorum; its rounds begin "
                "with whoever is there"
            )
        return self

    def of(self, devices: int) -> Self:
        """Return these rounds for a fleet of so many devices, `clients` as a number."""
        clients = self.clients
        if clients == 0:
            clients = min(10, devices)
        elif isinstance(clients, ShareOfFleet):
            clients = max(1, round(clients * devices))
        return self if clients is self.clients else self.model_copy(update={"clients": clients})
