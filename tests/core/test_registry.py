"""Components are found again by whoever reads a resolved scenario, in whatever process."""

import inspect
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from simfl import Aggregator, Scenario
from simfl.components.aggregators.base import Contribution
from simfl.components.selectors.base import selectors
from simfl.core.code import beside
from simfl.core.component import Component
from simfl.core.types import Params
from simfl.errors import InputError, ScenarioError

MINE = """
from simfl.components.selectors.base import Selector, selectors
from simfl.components.selectors.uniform import Uniform

class Plain(Selector):
    def select(self, view, reports, k, rng):
        return view.draw(k, rng)

class Heir(Uniform):
    pass

@selectors.register("of_their_own")
class Registered(Plain):
    pass
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of somebody's own, forgotten again at the end."""
    (tmp_path / "somebodys_own.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    selectors.load()
    monkeypatch.setattr(selectors, "classes", dict(selectors.classes))
    monkeypatch.delitem(sys.modules, "somebodys_own", raising=False)
    return "somebodys_own"


@pytest.mark.parametrize("kind", ["Plain", "Heir", "Registered"])
def test_a_class_named_by_its_module_is_written_down_by_it(mine: str, kind: str) -> None:
    """Neither a name it inherited nor one it registered is known to another process."""
    name = f"{mine}:{kind}"
    scenario = Scenario.from_dict(
        {"data": {"dataset": "synthetic"}, "model": "mlp", "fleet": {"count": 3}, "selection": name}
    )
    assert scenario.to_dict()["selection"]["name"] == name
    assert type(Scenario.from_dict(scenario.to_dict()).selection).__name__ == kind


def test_a_built_in_class_keeps_its_name() -> None:
    selectors.load()
    assert selectors.parse("simfl.components.selectors.uniform:Uniform").name == "uniform"
    assert selectors.parse("uniform").name == "uniform"


def test_a_class_of_several_names_is_written_down_by_that_which_the_scenario_has(mine: str) -> None:
    registered = type(selectors.parse(f"{mine}:Registered"))
    selectors.register("by_another_name")(registered)
    names = ["of_their_own", "by_another_name", f"{mine}:Registered"]
    objects = [selectors.parse(name) for name in names]
    assert registered.name == "of_their_own"
    for name, selector in zip(names, objects, strict=True):
        sent = pickle.loads(pickle.dumps(selector))
        for one in (selector, selector.fresh(), selector.model_copy(), sent):
            assert selectors.dump(one) == {"name": name, "charge_probes": True}
            assert one == objects[0]


def test_a_class_found_by_its_module_goes_on_by_its_name(mine: str) -> None:
    """What one scenario calls it is nobody else's business."""
    [registered] = [type(selectors.parse(f"{mine}:Registered"))]
    assert selectors.parse("of_their_own").name == registered.name == "of_their_own"
    assert registered().name == "of_their_own"


def test_a_name_belongs_to_one_class(mine: str, tmp_path: Path) -> None:
    """A copied file in which only the code was changed does not take the original's place."""
    before = selectors.get("round_robin")
    copied = "@selectors.register('round_robin')\nclass RoundRobin(Plain): ...\n"
    (tmp_path / "somebodys_own.py").write_text(MINE + copied)
    with pytest.raises(
        InputError, match=r"'round_robin' is registered twice: by simfl\.components\.selec"
    ):
        selectors.get(f"{mine}:RoundRobin")
    assert selectors.get("round_robin") is before


def test_a_module_with_a_mistake_is_told_of(mine: str, tmp_path: Path) -> None:
    (tmp_path / "somebodys_own.py").write_text("def :")
    with pytest.raises(ScenarioError, match=r"selection: .*can't be imported: SyntaxError"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": f"{mine}:Plain"})


def test_what_a_module_raises_is_told_with_its_line(mine: str, tmp_path: Path) -> None:
    (tmp_path / "somebodys_own.py").write_text("import sys\nraise ValueError('no')\n")
    with pytest.raises(InputError, match=r"ValueError: no \(.*somebodys_own\.py:2\)"):
        selectors.get(f"{mine}:Plain")


def test_what_is_experimental_is_said_so() -> None:
    from simfl.scenario.reference.describe import Description, summary

    class Steady(Component):
        """Does something."""

    class Trial(Steady):
        """Does something new."""

        experimental: ClassVar[bool] = True

    assert summary(Steady) == "Does something."
    assert summary(Trial) == "(experimental) Does something new."
    assert "Experimental" in str(Description.of(Trial, "selector", "trial"))
    assert "Experimental" not in str(Description.of(Steady, "selector", "steady"))


def test_a_copy_that_keeps_its_name_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is how a component of one's own begins."""
    original = Path(inspect.getfile(selectors.get("round_robin")))
    (tmp_path / "copied_robin.py").write_text(original.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    told = "selector 'copied_robin:RoundRobin' can't be imported: .* registered twice"
    with pytest.raises(ScenarioError, match=rf"selection: {told}.*; give one of them another name"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": "copied_robin:RoundRobin"})


WRONG = {
    "raises": ("def model_post_init(self, _): {}[3]", "can't be made: KeyError: 3"),
    "no super": ("def __init__(self, **options): pass", r"must call super\(\).__init__"),
    "not declared": (
        "def model_post_init(self, _): self.seen = 0",
        "'seen' can't be set: .*_seen:",
    ),
    "private": ("def model_post_init(self, _): self._seen = 0", "'_seen' can't be set.*_seen"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_class_that_can_not_be_made_is_told_as_its_authors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    """These were internal errors, or state that no checkpoint kept."""
    body, words = WRONG[wrong]
    module = f"somebodys_{wrong.replace(' ', '_')}"
    (tmp_path / f"{module}.py").write_text(
        f"from simfl import Selector\nclass Mine(Selector):\n    {body}\n"
        "    def select(self, view, reports, k, rng): return view.available[:k]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ScenarioError, match=rf"selection: selector '{module}:Mine' .*{words}"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": f"{module}:Mine"})


def test_an_option_without_a_type_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "somebodys_untyped.py").write_text(
        "from simfl import Selector\nclass Mine(Selector):\n    greed = 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ScenarioError) as told:
        Scenario.from_dict({"fleet": {"count": 3}, "selection": "somebodys_untyped:Mine"})
    [line] = [line for line in str(told.value).splitlines() if "selection" in line]
    assert "'somebodys_untyped:Mine' can't be imported: `greed = 2` has no type: an option" in line
    assert line.endswith("somebodys_untyped.py:2)")
    assert "further information" not in str(told.value)


def test_a_component_of_another_kind_is_told_by_name() -> None:
    fedavg = "simfl.components.aggregators.fedavg:FedAvg"
    with pytest.raises(ScenarioError, match=rf"selection: '{fedavg}' is no selector"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": fedavg})


def test_a_class_in_place_of_an_object_and_one_of_another_kind_are_named() -> None:
    """One had all selectors listed, the other was "'' is no selector"."""

    class Mine(Aggregator):
        def aggregate(self, model: Params, contributions: Sequence[Contribution]) -> Params:
            return model

    with pytest.raises(ScenarioError, match=r"aggregation: Mine is a class; .* of it, Mine\(\)"):
        Scenario.from_dict({"fleet": {"count": 3}, "aggregation": Mine})
    with pytest.raises(ScenarioError, match=r"selection: 'Mine' is no selector"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": Mine()})


@pytest.mark.parametrize(
    ("written", "what"),
    [
        ("class Mine:\n    pass\n", "class"),
        ("def Mine(view, k):\n    return view.available[:k]\n", "function"),
    ],
)
def test_what_is_no_component_is_told_what_to_derive_it_from(
    written: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was not a simfl component class, whatever that is."""
    (tmp_path / f"somebodys_{what}.py").write_text(written)
    monkeypatch.syspath_prepend(tmp_path)
    needed = r"no class derived from simfl's Selector \(simfl\.components\.selectors\.base\)"
    with pytest.raises(ScenarioError, match=rf"selection: selector '.*' is a {what}, but {needed}"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": f"somebodys_{what}:Mine"})


def test_a_name_for_the_file_beside_the_scenario_is_told_how_to_write_it(tmp_path: Path) -> None:
    """`selection: loudest` was answered with all that there are, with loudest.py beside it."""
    (tmp_path / "loudest.py").touch()
    with beside(tmp_path), pytest.raises(InputError) as told:
        selectors.get("loudest")
    assert str(told.value) == (
        "unknown selector 'loudest'; a selector of your own is written 'loudest.py:Name'"
    )


def test_an_abstract_class_is_no_component() -> None:
    abstract = "simfl.components.selectors.base:Selector"
    with pytest.raises(ScenarioError, match=r"selection: selector '.*' lacks `select`"):
        Scenario.from_dict({"fleet": {"count": 3}, "selection": abstract})
