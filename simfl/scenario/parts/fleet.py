"""The fleet: groups of devices, and how the numbers of one device go together."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)

from simfl.components.attacks.base import Attack, attacks
from simfl.components.availability.base import Availability, availabilities
from simfl.components.availability.together import Together
from simfl.core.units import DATA_RATE, DURATION, SAMPLE_RATE, Dimension, Percent
from simfl.scenario.distributions import Draw
from simfl.scenario.parts.battery import BatteryField
from simfl.scenario.parts.catalogue import catalogue, device_class
from simfl.scenario.parts.correlation import SAMPLES
from simfl.scenario.parts.device_number import (
    ComputeDraw,
    DataSizeDraw,
    Drawn,
    DurationDraw,
    LinkDraw,
)
from simfl.scenario.parts.device_trace import DeviceTrace
from simfl.scenario.parts.part import WORKED_OUT, Count, Name, Part
from simfl.scenario.parts.power import PowerDraw
from simfl.scenario.parts.rate_jitter import ComputeJitter, RateJitter


def _known(name: str) -> str:
    device_class(name)
    return name


def _as_list(value: Any) -> Any:
    return [] if value is None else value if isinstance(value, list | tuple) else [value]


class Group(Part):
    """Devices of one kind: each number is the same for all, or drawn for each."""

    name: Name = Field("devices", description="unique among the groups")
    count: Annotated[Count, WORKED_OUT] = Field(
        description="number of devices; omitted: one for each row of the trace, or, of one group "
        "alone without a trace or with one that names clients, for each of the data set's own "
        "clients, if their number is known beforehand (your own data: if they say which samples "
        "are for testing)"
    )
    device: Annotated[str, AfterValidator(_known)] | None = Field(
        None, description="class of devices whose numbers are the defaults; see simfl list devices"
    )
    trace: Annotated[tuple[DeviceTrace, ...], BeforeValidator(_as_list)] = Field(
        (), description="rows of a file (or of several) that devices take numbers from together"
    )
    compute: ComputeDraw = Field(
        default_factory=lambda: constant("100 samples/s", SAMPLE_RATE),
        description="training speed: samples/s, or a time such as 20 ms/sample; or FLOP/s, divided "
        "by what the model's forward and backward passes take",
    )
    downlink: LinkDraw = Field(
        default_factory=lambda: constant("unlimited", DATA_RATE),
        description="bandwidth: the rate at which a device receives",
    )
    uplink: LinkDraw = Field(
        default_factory=lambda: constant("unlimited", DATA_RATE),
        description="bandwidth: the rate at which a device sends",
    )
    latency: DurationDraw = Field(
        default_factory=lambda: constant("0 s", DURATION),
        description="one-way, before the first byte of each transfer",
    )
    cell: Name | None = Field(
        None, description="one of the network's cells; all devices of the group share its links"
    )
    link_jitter: RateJitter | None = Field(
        None, description="how rates vary from transfer to transfer; omitted: not at all"
    )
    compute_jitter: ComputeJitter | None = Field(
        None, description="how the speed varies from training to training; omitted: not at all"
    )
    availability: Annotated[Availability, availabilities] = Field(
        default_factory=availabilities.make, description="when devices are online"
    )
    on_offline: Literal["abort", "pause", "salvage"] = Field(
        "abort",
        description="what happens to the work in progress when a device goes offline: it is lost, "
        "it resumes when the device is back, or its finished steps are uploaded then",
    )
    failures: Percent = Field(
        0.0,
        lt=1,
        description="share of trainings, and of charged answers to a selector, that break off at "
        "some moment of their computing (the app is closed, memory runs out): the work is lost, "
        "the device stays",
    )
    attack: Annotated[Attack, attacks] | None = Field(
        None, description="what is wrong with what its devices learn or send; omitted: nothing"
    )
    power: PowerDraw | None = Field(
        None, description="watts by phase; omitted: energy is not accounted for"
    )
    memory: DataSizeDraw | None = Field(
        None, description="for training; a device with too little refuses work; omitted: enough"
    )
    battery: BatteryField = Field(
        None, description="a capacity, or {capacity, charge, plugged, ...}; omitted: on mains"
    )

    @property
    def by_name(self) -> Mapping[str, bool]:
        """Whether each of its parts has to know what the clients of its devices are called."""
        plugged = None if self.battery is None else self.battery.plugged
        return {
            "trace": any(trace.by_client for trace in self.trace),
            "availability": self.availability.by_name,
            "battery": plugged is not None and plugged.by_name,
        }

    @property
    def tells_samples(self) -> bool:
        """Whether its trace says how many samples each device holds."""
        return any(trace.samples is not None for trace in self.trace)

    @property
    def presence(self) -> Together:
        """When its devices are there for work, as far as batteries last.

        A charger's draws are not addressed as the availability's, which is a matter of its own.
        """
        parts = [(self.name, self.availability)]
        if (battery := self.battery) is not None and battery.plugged and battery.only_plugged:
            parts.append((battery.address(self.name), battery.plugged))
        return Together(parts)

    @property
    def traced(self) -> frozenset[str]:
        """Which numbers come from the trace."""
        return frozenset(number for trace in self.trace for number in trace.columns)

    def draw(self, number: str) -> Draw | None:
        """Return how a number that correlations have a name for is drawn (None: it is not)."""
        if number == "battery":
            return None if self.battery is None else self.battery.capacity
        return None if number == SAMPLES else getattr(self, number)

    @model_validator(mode="after")
    def _samples_once(self) -> Self:
        if sum(trace.samples is not None for trace in self.trace) > 1:
            raise ValueError("samples is given twice, by two traces")
        return self

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, value: Any, info: ValidationInfo) -> Any:
        """Fill in what the class of devices and the trace say."""
        if not isinstance(value, dict):
            return value
        filled, traces = dict(value), _as_list(value.get("trace"))
        traced: list[str] = []
        for trace in traces:
            columns = trace.get("columns") if isinstance(trace, dict) else None
            columns = trace.columns if isinstance(trace, DeviceTrace) else columns
            traced += columns if isinstance(columns, dict) else ()  # else told of the trace itself
        if twice := sorted(name for name in set(traced) if name in value or traced.count(name) > 1):
            raise ValueError(f"{twice[0]} is given twice, once by a column of a trace")
        known = catalogue().get(str(value.get("device")))
        for number, default in (known.defaults() if known else {}).items():
            if number not in traced:
                own = filled.setdefault(number, default)
                if isinstance(own, dict) and isinstance(default, dict):
                    filled[number] = {**default, **own}
        if traces and "count" not in value and not _by_client(traces[0]):
            try:
                first = DeviceTrace.model_validate(traces[0], context=info.context)
                filled["count"], filled["trace"] = first.rows, [first, *traces[1:]]  # read once
            except ValidationError:
                filled["count"] = 1  # told of the trace itself
        return filled

    @model_serializer(mode="wrap")
    def _written(self, handler: Callable[["Group"], Any]) -> dict[str, Any]:
        """Leave out the numbers that the trace gives; write that there are none of the class."""
        data = cast(dict[str, Any], handler(self))
        left_out = {*self.traced} if self.trace else {"trace"}
        known = None if self.device is None else device_class(self.device).defaults()
        none = {number: None for number in known or () if getattr(self, number) is None}
        return {key: item for key, item in {**none, **data}.items() if key not in left_out}


def constant(value: str, dimension: Dimension) -> Draw:
    """Return the draw that gives every device `value`."""
    return Drawn(dimension, unlimited=True).parse(value)


def _listed(value: Any) -> Any:
    """Let a fleet of one group be written without a list, and groups without names be numbered."""
    if isinstance(value, dict) and value and _is_by_name(value):
        first = f"`- name: {next(iter(value))}`"
        raise ValueError(f"groups are a list: write {first}, with its numbers beside its name")
    groups = [value] if isinstance(value, dict) else value
    if not isinstance(groups, list) or len(groups) < 2:
        return groups
    return [
        {"name": f"group-{index}", **group} if isinstance(group, dict) else group
        for index, group in enumerate(groups)
    ]


def _is_by_name(fleet: dict[str, Any]) -> bool:
    """Return whether a mapping has groups under their names, and no number of one group."""
    groups = all(isinstance(group, dict) for group in fleet.values())
    return groups and not fleet.keys() & Group.model_fields.keys()


def lacks_count(fleet: Any) -> bool:
    """Return whether a fleet, as written, is one group of which nothing says how large it is."""
    groups = [fleet] if isinstance(fleet, dict) else fleet
    if not isinstance(groups, list) or len(groups) != 1 or not isinstance(groups[0], dict):
        return False
    named = isinstance(fleet, dict) and fleet and _is_by_name(fleet)  # which is a mistake
    trace = next(iter(_as_list(groups[0].get("trace"))), None)
    return not named and "count" not in groups[0] and (trace is None or _by_client(trace))


def _by_client(trace: Any) -> bool:
    """Return whether devices look their rows of a trace, as written, up by their clients."""
    if isinstance(trace, DeviceTrace):
        return trace.by_client
    return isinstance(trace, dict) and trace.get("client") is not None


def counted(fleet: Any, devices: int) -> Any:
    """Return a fleet that `lacks_count`, with so many devices (0: as it is)."""
    [group] = [fleet] if isinstance(fleet, dict) else fleet
    return [{**group, "count": devices}] if devices else fleet


Groups = Annotated[tuple[Group, ...], Field(min_length=1), BeforeValidator(_listed)]
