"""Fleets from rows of files: numbers of one row stay together; mistakes name their line."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simfl.build.fleet import draw_fleet
from simfl.core.seeds import Seeds
from simfl.errors import ScenarioError
from simfl.scenario import Document, Scenario
from simfl.sim.fleet import Fleet

ROWS = """\
phone,down_kbps,up_kbps,batch_ms,share,artefact
a,1000,100,50,1,0
b,2000,200,100,3,0
c,3000,300,200,0,0
d,9000,421,10,5,1
"""
TRACE: dict[str, Any] = {
    "file": "phones.csv",
    "columns": {
        "downlink": {"column": "down_kbps", "unit": "kbit/s"},
        "uplink": {"column": "up_kbps", "unit": "kbit/s"},
        "compute": {"column": "batch_ms", "unit": "ms", "samples": 10},
    },
    "where": {"artefact": 0},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "phones.csv").write_text(ROWS)
    (tmp_path / "phones.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    return tmp_path


def load(folder: Path, trace: dict[str, Any], **group: Any) -> Scenario:
    data = {
        "data": {"dataset": "synthetic"},
        "model": "logistic_regression",
        "fleet": {"trace": {**TRACE, **trace}} | group,
    }
    return Scenario.from_dict(data, folder=folder)


def draw(scenario: Scenario) -> Fleet:
    n = scenario.devices
    return draw_fleet(
        scenario, Seeds(0), np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64), 1000
    )


@pytest.mark.parametrize("file", ["phones.csv", "phones.csv.gz"])
def test_in_order_every_row_is_a_device(folder: Path, file: str) -> None:
    scenario = load(folder, {"file": file, "sample": "in_order"})
    fleet = draw(scenario)
    assert scenario.devices == 3
    assert fleet.downlink_bps.tolist() == [1e6, 2e6, 3e6]
    assert fleet.uplink_bps.tolist() == [1e5, 2e5, 3e5]
    assert fleet.rate.tolist() == [200, 100, 50]


def test_a_column_may_be_of_times_per_sample(folder: Path) -> None:
    column = {"column": "batch_ms", "unit": "ms/sample"}
    scenario = load(folder, {"sample": "in_order", "columns": {"compute": column}})
    np.testing.assert_allclose(draw(scenario).rate, [20, 10, 5])


def test_a_file_as_a_spreadsheet_writes_it(folder: Path) -> None:
    (folder / "sheet.csv").write_bytes(b"\xef\xbb\xbf" + ROWS.replace("\n", "\r\n").encode())
    trace = {"where": {"phone": ["b", "c"]}, "file": "sheet.csv", "sample": "in_order"}
    assert draw(load(folder, trace)).downlink_bps.tolist() == [2e6, 3e6]


def test_more_devices_than_rows_start_again(folder: Path) -> None:
    fleet = draw(load(folder, {"sample": "in_order"}, count=5))
    assert fleet.uplink_bps.tolist() == [1e5, 2e5, 3e5, 1e5, 2e5]


def test_numbers_of_a_row_stay_together(folder: Path) -> None:
    fleet = draw(load(folder, {}, count=500))
    assert np.allclose(fleet.downlink_bps, 10 * fleet.uplink_bps)
    assert stats.chisquare(np.unique(fleet.rate, return_counts=True)[1]).pvalue > 1e-3


def test_weights_say_how_likely_a_row_is(folder: Path) -> None:
    fleet = draw(load(folder, {"weights": "share"}, count=400))
    values, counts = np.unique(fleet.uplink_bps, return_counts=True)
    assert values.tolist() == [1e5, 2e5]
    assert stats.binomtest(int(counts[1]), 400, 0.75).pvalue > 1e-3


def test_one_more_device_moves_nobody(folder: Path) -> None:
    few, more = (draw(load(folder, {}, count=count)) for count in (20, 21))
    assert np.array_equal(few.downlink_bps, more.downlink_bps[:20])


def test_several_files_give_different_numbers(folder: Path) -> None:
    links = {**TRACE, "columns": {"downlink": TRACE["columns"]["downlink"]}}
    speed = {**TRACE, "columns": {"compute": TRACE["columns"]["compute"]}, "sample": "in_order"}
    data = {**load(folder, {}).to_dict(), "fleet": {"count": 300, "trace": [links, speed]}}
    scenario = Scenario.from_dict(data, folder=folder)
    fleet = draw(scenario)
    assert fleet.rate[:3].tolist() == [200, 100, 50]
    assert -0.2 < stats.spearmanr(fleet.rate, fleet.downlink_bps).statistic < 0.2
    assert scenario.fleet[0].traced == {"downlink", "compute"}


def test_where_takes_text_and_several_values(folder: Path) -> None:
    scenario = load(folder, {"where": {"phone": ["a", "d"]}, "sample": "in_order"})
    assert draw(scenario).uplink_bps.tolist() == [1e5, 4.21e5]


def test_written_out_and_read_again_it_is_the_same(folder: Path) -> None:
    scenario = load(folder, {"weights": "share"}, latency="5 ms")
    again = Scenario.from_dict(Document.parse(scenario.to_yaml()).data, folder=folder)
    assert again.to_yaml() == scenario.to_yaml()
    assert again.fleet == scenario.fleet


@pytest.mark.parametrize(
    ("trace", "group", "message"),
    [
        ({"file": "phone.csv"}, {}, "can't read .*phone.csv: No such file"),
        ({"where": {"artifact": 0}}, {}, "no column 'artifact'; did you mean 'artefact'"),
        (
            {"where": {"artefact": 7}},
            {},
            "phones.csv has no row that fits `where`; column 'artefact' holds '0', '1'",
        ),
        ({"weights": "phone"}, {}, "phones.csv:2: expected a number in column 'phone', got 'a'"),
        ({"weights": "share", "sample": "in_order"}, {}, "`weights` need `sample: random`"),
        ({}, {"uplink": "1 Mbit/s"}, "uplink is given twice, once by a column of a trace"),
        ({"columns": "downlink"}, {}, "trace.columns: expected a mapping, got 'downlink'"),
        ({"columns": 5}, {}, "trace.columns: expected a mapping, got 5"),
    ],
)
def test_mistakes_are_told(
    folder: Path, trace: dict[str, Any], group: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(folder, trace, **group)


@pytest.mark.parametrize("trace", ["phones.csv", 5, [["phones.csv"]]])
def test_a_trace_is_a_mapping(folder: Path, trace: Any) -> None:
    with pytest.raises(ScenarioError, match="expected a mapping"):
        Scenario.from_dict({**load(folder, {}).to_dict(), "fleet": {"trace": trace}}, folder=folder)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"column": "down", "unit": "kbit/s"}, "no column 'down'; did you mean 'down_kbps'"),
        ({"column": "down_kbps", "unit": "kb/s"}, "bits or bytes: write 'kbit/s' or 'kB/s'"),
        ({"column": "down_kbps", "unit": "ms"}, "expected a unit of a data rate, got 'ms', a dur"),
        ({"column": "artefact", "unit": "kbit/s"}, "csv:2: '0' can't be a data rate in kbit"),
        ({"column": "down_kbps", "unit": "kbit/s", "samples": 3}, "`samples` is only for compute"),
    ],
)
def test_wrong_columns_are_told(folder: Path, column: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        load(folder, {"columns": {"downlink": column}})


def test_a_traced_number_can_not_be_correlated(folder: Path) -> None:
    data = {**load(folder, {}).to_dict(), "correlate": {"uplink~samples": 0.5}}
    with pytest.raises(ScenarioError, match="uplink can't be correlated"):
        Scenario.from_dict(data, folder=folder)


@pytest.mark.skipif("SIMFL_SHARED_DATA" not in os.environ, reason="needs SIMFL_SHARED_DATA")
def test_the_example_with_real_phones_and_real_links() -> None:
    folder = Path(os.environ["SIMFL_SHARED_DATA"]) / "traces"
    file = Path(__file__).parents[2] / "scenarios" / "real_phones.yaml"
    scenario = Scenario.load(file, [f"folder={folder}"])
    n = scenario.devices
    fleet = draw_fleet(
        scenario, Seeds(0), np.ones(n, dtype=np.int64), np.zeros(n, dtype=np.int64), None
    )
    assert 0.4 < stats.spearmanr(fleet.downlink_bps, fleet.uplink_bps).statistic < 0.7
    assert 0.8 < np.median(fleet.downlink_bps) / 56.4e6 < 1.25
    slow, fast = np.array([1642, 179]) / 1000 / 10
    assert set(np.round(1 / fleet.rate, 4)) <= {round(slow, 4), 0.0588, round(fast, 4)}
