"""What installed distributions advertise for one kind of component, and for no other."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from simfl.core.plugins import Plugins
from simfl.errors import InputError

MODULE = "somebodys_plugin"
WRITTEN = "class Mine: ...\n"


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / f"{MODULE}.py").write_text(WRITTEN)
    monkeypatch.syspath_prepend(tmp_path)


def plugins(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str, str]) -> Plugins:
    """Return what there is of selectors where these (name, value, group) are advertised."""
    advertised = [EntryPoint(*point) for point in points]
    monkeypatch.setattr("simfl.core.plugins.advertised", lambda: advertised)
    return Plugins("selector", "simfl.selectors")


def load(plugins: Plugins, known: dict[str, type]) -> None:
    def register(name: str, place: str, named: object) -> None:
        assert isinstance(named, type)
        assert place == f"{named.__module__}:{named.__name__}"
        known[name] = named

    plugins.load(register, known)


def test_a_class_is_known_by_its_entry_point_if_that_is_of_its_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine, other = f"{MODULE}:Mine", "nobodys_module:Other"
    found = plugins(
        monkeypatch, ("mine", mine, "simfl.selectors"), ("other", other, "simfl.aggregators")
    )
    known: dict[str, type] = {}
    load(found, known)
    assert found.modules == (MODULE,)
    assert {name: member.__name__ for name, member in known.items()} == {"mine": "Mine"}


def test_where_nothing_is_installed_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = plugins(monkeypatch, ("other", "nobodys_module", "simfl.aggregators"))
    known: dict[str, type] = {}
    load(found, known)
    assert found.modules == ()
    assert known == {}


def test_a_module_must_have_registered_a_class_of_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = plugins(monkeypatch, ("mine", MODULE, "simfl.selectors"))
    told = f"plugin '{MODULE}', installed for simfl.selectors, registers no selector; .*:Name'"
    with pytest.raises(InputError, match=told):
        load(found, {"uniform": Path})
    registered = type("Registered", (), {"__module__": f"{MODULE}.deeper"})
    load(found, {"by_another_name": registered})


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (f"{MODULE}:Nobody", "can't be imported: module .* has no attribute 'Nobody'"),
        ("nobodys_module", "can't be imported: No module named 'nobodys_module'"),
    ],
)
def test_what_can_not_be_imported_is_told(
    monkeypatch: pytest.MonkeyPatch, value: str, told: str
) -> None:
    with pytest.raises(InputError, match=rf"installed for simfl\.selectors, {told}"):
        load(plugins(monkeypatch, ("mine", value, "simfl.selectors")), {})
