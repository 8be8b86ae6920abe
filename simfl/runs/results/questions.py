"""Questions of selectors in an event log, and who answered which."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Event = Mapping[str, Any]


def answers(events: Iterable[tuple[int, Event]]) -> Iterator[tuple[int, Event, Event]]:
    """Yield the line of each answer, the question, and the answer; those nobody asked are left out.

    Args:
        events: the line of each `probe` and `probed`, and itself.
    """
    asked: list[Event] = []
    for line, event in events:
        if event["event"] == "probe":
            asked.append(event)
        elif (question := next((q for q in asked if _answers(event, q)), None)) is not None:
            asked.remove(question)
            yield line, question, event


def _answers(event: Event, asked: Event) -> bool:
    same = all(event.get(key) == asked.get(key) for key in ("round", "turn", "report", "model"))
    return same and set(event["answered"]) <= set(asked["asked"])
