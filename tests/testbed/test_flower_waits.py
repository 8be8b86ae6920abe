"""What participations are made of with Flower: as its journals tell, and as it is given."""

from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from simfl import Scenario
from testbed.flower import federation
from testbed.flower.waits import given_waits, waits
from testbed.journals import read
from testbed.simulated import simulate
from testbed.wire import FLOWER
from tests.testbed.made import FLOWER_SCENARIO as SCENARIO
from tests.testbed.made import FLOWER_SIZE as SIZE
from tests.testbed.made import write_journals


def test_what_flower_waits_for_is_told_by_its_journals(tmp_path: Path) -> None:
    facts = {"client": 0, "order": 0, "at": 100.0, "round": 0, "bytes": 8}
    ends = {"start": 100.0, "closed": 110.0, "end": 110.5}
    server = [
        {"event": "began", "at": 100.0},
        {"event": "ordered"} | facts,
        {"event": "round", "round": 0, "used": [{"order": 0, "staleness": 0}]} | ends,
        {"event": "looked", "at": 103.0, "took": 0.5},
        {"event": "looked", "at": 107.0, "took": 3.0},
        {"event": "looked", "at": 110.5, "took": 0.5},  # of the next round
        {"event": "arrived", "at": 108.0, "order": 0, "bytes": 8},
    ]
    steps = {"received": 102.0, "downloaded": 103.0, "launched": 103.5}
    node = [{"order": 0, name: at} for name, at in steps.items()]
    node += [{"order": 0, "computed": 106.0, "trained": 1.0}, {"order": 0, "noticed": 106.25}]
    write_journals(tmp_path, server, node)
    found = waits(read(tmp_path, 1, False, {}, []))
    waited = {"order": 2.0, "launch": 0.5, "notice": 0.25, "look": 2.0, "looking": 3.5}
    assert found == waited | {"model": 1.0, "training": 2.5, "update": 1.75}


def test_what_is_given_of_flower_waits_for_as_long_as_its_rounds_last() -> None:
    changes = ["data.dataset=synthetic_images", "rounds.stop.rounds=12", "rounds.clients=1"]
    changes += ["fleet={count: 1, compute: 41 samples/s, downlink: 4 Mbit/s, uplink: 2 Mbit/s}"]
    given = federation.with_polling(Scenario.load(SCENARIO, changes), SIZE)
    simulated = simulate(given, None, False, FLOWER)
    found = given_waits(given, simulated)
    assert found["model"] == pytest.approx(8 * FLOWER.gross(SIZE) / 4e6)
    assert found["update"] == pytest.approx(2 * found["model"])
    assert found["training"] == pytest.approx(20 * 32 / 41)
    assert found["notice"] == federation.NOTICE_S / 2
    assert sum(found.values()) == pytest.approx(simulated.rounds.end_s.max() / 12)
