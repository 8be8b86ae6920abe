"""The closed forms that ship with the tool hold, and would be told if they did not."""

import json
import math

import pytest

from simfl.cli import main
from simfl.sim.networks.links.fair_link import FairLink
from simfl.testing.virtual_time import selftest
from simfl.testing.virtual_time.selftest import Check


@pytest.mark.parametrize(
    ("name", "tolerance", "law"), selftest.LAWS, ids=[law[0] for law in selftest.LAWS]
)
def test_every_law_holds(name: str, tolerance: float, law) -> None:
    expected, measured = law()
    check = Check(name, expected, measured, tolerance)
    assert check.passed, str(check)


def test_prints_a_line_for_each_law(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = [law for law in selftest.LAWS if law[0].startswith(("one device", "energy"))]
    monkeypatch.setattr(selftest, "LAWS", tuple(quick))
    assert main(["selftest"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok    one device: ")
    assert "expected 59.5, measured 59.5" in lines[1]
    assert lines[2] == "2 of 2 laws hold"


def test_a_law_that_does_not_hold_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    laws = (("right", 0.1, lambda: (2.0, 2.1)), ("wrong", 0.1, lambda: (2.0, 2.3)))
    monkeypatch.setattr(selftest, "LAWS", laws)
    assert main(["selftest"]) == 1
    assert "FAIL  wrong: expected 2, measured 2.3" in capsys.readouterr().out
    assert main(["selftest", "--json"]) == 1
    assert [law["passed"] for law in json.loads(capsys.readouterr().out)] == [True, False]


def test_nothing_measured_is_a_failure() -> None:
    assert not Check("nothing", 1.0, math.nan, 1.0).passed
    assert Check("zero", 0.0, 0.05, 0.1).passed


def test_an_unfair_link_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a link's capacity lost, whenever something joins: the laws of the network say so."""
    honest = FairLink.__init__
    monkeypatch.setattr(FairLink, "__init__", lambda self, capacity: honest(self, capacity / 2))
    broken = {
        name.partition(":")[0]
        for name, tolerance, law in selftest.LAWS
        if "transfers" in name or "busy" in name
        if not Check(name, *law(), tolerance).passed
    }
    assert broken >= {"n equal transfers over a shared link C", "staggered transfers"}
    assert "work conservation" in broken
