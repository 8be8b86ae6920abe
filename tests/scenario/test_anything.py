"""Whatever a scenario says: it is accepted, or refused with words for its author."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simfl.errors import ScenarioError
from simfl.scenario import Document, Scenario, expand
from tests.scenario.written import FULL, MINIMAL

BASES = [MINIMAL, Document.parse(FULL).data]

odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "x", "none", "30%", "10 Mbit/s", "-1 s", "os:path", "nowhere:X", "0-4"])
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["name", "distribution", "values", "count", "file", "x"]),
            inner,
            max_size=2,
        )
    ),
    max_leaves=4,
)


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Iterable[tuple[Any, Any]] = data.items() if isinstance(data, dict) else []
    inner = enumerate(data) if isinstance(data, list) else inner
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


@settings(max_examples=200)
@given(data=st.data())
def test_accepted_or_refused_in_words(data: st.DataObject) -> None:
    base = deepcopy(data.draw(st.sampled_from(BASES)))
    *above, last = data.draw(st.sampled_from(places(base)[1:]))
    into: Any = base
    for key in above:
        into = into[key]
    into[last] = data.draw(odd)
    document = Document.of(base)
    runs, told = [], ""
    try:
        runs = expand(document)
    except ScenarioError as error:
        told = str(error)
    for jargon in ("validation error", "function-", "{message}", "pydantic", "Input should"):
        assert jargon not in told
    if not told:
        scenario = Scenario.from_dict(base)
        assert expand(scenario) == runs
        assert Scenario.from_dict(Document.parse(scenario.to_yaml()).data) == scenario
