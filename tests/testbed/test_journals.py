"""What the processes of a real run wrote down, put together."""

from pathlib import Path
from typing import Any

import pytest

from testbed.journals import read
from tests.testbed.made import write_journals


@pytest.mark.parametrize(("computed", "cut_off"), [({"computed": 104.0}, 250), ({}, 0)])
def test_what_was_sent_of_an_update_under_way_at_the_end_is_told_by_the_counters(
    tmp_path: Path, computed: dict[str, float], cut_off: int
) -> None:
    order = {"event": "ordered", "order": 1, "client": 0, "round": 0, "at": 100.0, "bytes": 8}
    closed = {"event": "round", "round": 0, "used": []} | dict.fromkeys(("start", "end"), 105.0)
    server = [{"event": "began", "at": 100.0}, order, closed | {"closed": 105.0}]
    client = [{"order": 1, "downloaded": 101.0}]
    client += [{"order": 1, "sent": 1000} | computed] if computed else []
    write_journals(tmp_path, server, client)
    found = read(tmp_path, 1, True, {}, [], {"c0": (0, 1250, 0, 0, 0)})
    assert (found.clients.outcome.tolist(), found.cut_off) == (["unfinished"], cut_off)


def test_who_leaves_with_an_update_under_way_is_offline_with_fedbuff_too(tmp_path: Path) -> None:
    """Whatever else its client sends, once it is back, is no part of an update that was cut off."""
    events: list[dict[str, Any]] = [{"event": "began", "at": 100.0}]
    for order, at in enumerate((100.0, 104.0, 105.0)):
        events.append({"event": "ordered", "order": order, "client": 0, "round": 0, "at": at})
    events.insert(2, {"event": "left", "at": 103.0, "client": 0})
    events.append({"event": "arrived", "at": 105.0, "order": 1, "bytes": 8})
    used = [{"order": 1, "staleness": 0}]
    times = {"start": 100.0, "closed": 106.0, "end": 106.0}
    events.append({"event": "round", "round": 0, "used": used} | times)
    events = [{"bytes": 8} | event for event in events]
    client = [{"order": 0, "downloaded": 101.0, "computed": 102.0, "sent": 1000}]
    write_journals(tmp_path, events, client)
    found = read(tmp_path, 1, True, {}, [], {"c0": (0, 9000, 0, 0, 0)})
    assert found.clients.outcome.tolist() == ["offline", "arrived", "unfinished"]
    assert found.cut_off == 0


def test_what_a_client_sent_of_two_updates_that_the_end_cut_off_counts_once(tmp_path: Path) -> None:
    order = {"event": "ordered", "client": 0, "round": 0, "bytes": 8}
    over = {"event": "round", "round": 0, "used": [], "start": 100.0, "closed": 106.0, "end": 106.0}
    server = [{"event": "began", "at": 100.0}, order | {"order": 0, "at": 100.0}]
    server += [{"event": "arrived", "at": 103.0, "order": 0, "bytes": 8}]  # nobody used it
    server += [order | {"order": 1, "at": 103.0}, over]
    done = [{"downloaded": 101.0, "computed": 102.0}, {"downloaded": 104.0, "computed": 105.0}]
    client = [done[0] | {"order": 0, "sent": 1000}, done[1] | {"order": 1, "sent": 1300}]
    write_journals(tmp_path, server, client)
    found = read(tmp_path, 1, True, {}, [], {"c0": (0, 1450, 0, 0, 0)})
    assert found.clients.outcome.tolist() == ["unfinished", "unfinished"]
    assert found.cut_off == 450
