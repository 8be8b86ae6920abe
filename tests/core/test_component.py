"""What a component remembers is kept, that of those inside it too."""

import pickle

import numpy as np
from pydantic import Field, PrivateAttr

from simfl.components.selectors.base import Answers, Selector, View
from simfl.core.types import Ids, Rng
from simfl.testing.fake_server import FakeServer


class Counting(Selector):
    """Counts its selections, to choose by them."""

    _selections: int = PrivateAttr(0)

    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        self._selections += 1
        return np.array([self._selections])


class Asking(Selector):
    """Asks others: one, several, some by name."""

    inner: Counting = Counting()
    several: tuple[Counting, ...] = ()
    named: dict[str, Counting] = Field(default_factory=dict)

    def select(self, view: View, reports: Answers, k: int, rng: Rng) -> Ids:
        others = (self.inner, *self.several, *self.named.values())
        return np.concatenate([other.select(view, reports, k, rng) for other in others])


def test_the_state_of_a_component_holds_that_of_those_inside_it() -> None:
    """Else a run that is resumed would go on with blank ones."""
    view, rng = FakeServer.random(5).view(2), np.random.default_rng(0)

    def selections(asking: Asking) -> list[int]:
        found: list[int] = asking.select(view, (), 2, rng).tolist()
        return found

    asking = Asking(several=(Counting(), Counting()), named={"a": Counting()})
    assert selections(asking) == [1, 1, 1, 1]
    asking.several[1].select(view, (), 2, rng)
    state = pickle.loads(pickle.dumps(asking.state_dict()))
    again = asking.fresh()
    assert selections(asking.fresh()) == [1, 1, 1, 1]
    again.load_state_dict(state)
    assert selections(again) == selections(asking) == [2, 2, 3, 2]
