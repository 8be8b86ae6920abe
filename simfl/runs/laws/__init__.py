"""The laws that every run's folder obeys, whatever the scenario and whoever wrote its components.

Each law looks at the records alone and knows nothing of how they were made.  A new one is a
function of the records that yields violations, and a line in `LAWS`.
"""

from simfl.runs.laws.base import Law, Violation
from simfl.runs.laws.books import (
    event_digest,
    outcomes,
    scenario_digest,
    summary,
    tables,
    trainings,
)
from simfl.runs.laws.bytes import bytes_moved, in_flight
from simfl.runs.laws.clock import (
    abandoned_rounds,
    clock,
    deadlines,
    end,
    own_deadlines,
    phases,
    round_numbers,
)
from simfl.runs.laws.energy import energy, power
from simfl.runs.laws.mishaps import failed, offline
from simfl.runs.laws.models import accuracy, staleness
from simfl.runs.laws.places import one_place, questions
from simfl.runs.laws.privacy import privacy

__all__ = ["LAWS", "Law", "Violation"]

LAWS: list[Law] = [
    Law("clock", clock),
    Law("round numbers", round_numbers),
    Law("tables", tables),
    Law("one place", one_place),
    Law("questions", questions),
    Law("phases", phases),
    Law("outcomes", outcomes),
    Law("offline", offline),
    Law("failed", failed),
    Law("bytes", bytes_moved),
    Law("in flight", in_flight),
    Law("deadlines", deadlines, unknown=own_deadlines),
    Law("abandoned rounds", abandoned_rounds),
    Law("end", end),
    Law("staleness", staleness),
    Law("energy", energy),
    Law("power", power),
    Law("accuracy", accuracy),
    Law("privacy", privacy, full_log=False),
    Law("summary", summary, finished=True),
    Law("trainings", trainings, finished=True),
    Law("event digest", event_digest, finished=True, full_log=False),
    Law("scenario digest", scenario_digest, full_log=False),
]
"""In the order in which they are checked."""
