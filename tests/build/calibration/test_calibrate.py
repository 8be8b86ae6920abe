"""`simfl calibrate`: known devices, measured with noise, are found again."""

import io
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from simfl import Scenario
from simfl.build.calibration.calibrate import Device, calibrated
from simfl.build.calibration.calibrated_fleet import MANY, fleet
from simfl.cli import main
from simfl.core.units import DURATION, parse_quantity
from simfl.errors import InputError
from simfl.report.calibration_picture import picture
from tests.tiny import PILOT

Truth = dict[str, float]
PHONE: Truth = {"compute": 80.0, "down": 8e6, "up": 2e6, "latency": 0.04, "constant": 0.3}


def pilot(truth: Truth, rows: int, rng: np.random.Generator, **columns: Any) -> pd.DataFrame:
    """Return `rows` participations with 2% of noise; half of the messages are ten times smaller."""
    size = np.where(np.arange(rows) % 2, 40_000, 400_000)
    table = pd.DataFrame(
        {"samples": 50 + 50 * (np.arange(rows) % 5), "epochs": 2, "download_bytes": size}
    )
    table = table.assign(client="a", group="devices", upload_bytes=size, **columns)
    seconds = {
        "download_s": truth["latency"] + 8 * table.download_bytes / truth["down"],
        "compute_s": truth["constant"] + table.samples * table.epochs / truth["compute"],
        "upload_s": truth["latency"] + 8 * table.upload_bytes / truth["up"],
    }
    return table.assign(**{k: v * np.exp(rng.normal(0, 0.02, rows)) for k, v in seconds.items()})


def close(device: Device, truth: Truth, within: float) -> None:
    latency = truth["latency"] + truth["constant"] / 2
    assert device.compute == pytest.approx(truth["compute"], rel=within)
    assert device.downlink == pytest.approx(truth["down"], rel=within)
    assert device.uplink == pytest.approx(truth["up"], rel=within)
    assert device.latency_s == pytest.approx(latency, rel=2 * within)


def test_a_device_is_found_again_within_two_percent() -> None:
    [device] = calibrated(pilot(PHONE, 60, np.random.default_rng(0)))
    close(device, PHONE, 0.02)
    assert device.constant_s == pytest.approx(PHONE["constant"], rel=0.05)
    assert all(0.005 < error < 0.03 for error in device.residuals.values())


@pytest.mark.parametrize("sizes", [40_000, [4_000, 40_000, 400_000]])
def test_who_never_sent_a_byte_has_no_uplink(sizes: int | list[int]) -> None:
    table = pilot(PHONE, 3, np.random.default_rng(0)).assign(upload_bytes=0, download_bytes=sizes)
    with pytest.raises(InputError, match="client 'a' never sent a byte: column upload_bytes"):
        calibrated(table)


def test_that_more_clients_lack_something_than_are_named_is_said() -> None:
    """Who mended the five that were named met the next five."""
    tables = [
        pilot(PHONE, 3, np.random.default_rng(0)).assign(upload_bytes=0, client=f"c{n}")
        for n in range(6)
    ]
    with pytest.raises(InputError, match=r"client 'c4' never sent [^;]*; \.\.\.$"):
        calibrated(pd.concat(tables))


def test_one_row_in_ten_that_took_five_times_as_long_moves_little() -> None:
    table = pilot(PHONE, 60, np.random.default_rng(1))
    table.loc[::10, ["download_s", "compute_s", "upload_s"]] *= 5
    [device] = calibrated(table)
    close(device, PHONE, 0.05)


def test_rates_that_scatter_much_are_not_found_too_high() -> None:
    """Errors in shares of what was measured made a device 8% to 10% faster than it is, by this."""
    rng = np.random.default_rng(6)
    table = pilot(PHONE, 8000, rng)
    for phase in ("download", "compute", "upload"):
        table[f"{phase}_s"] *= np.exp(rng.normal(0, 0.3, len(table)))
    [device] = calibrated(table)
    close(device, PHONE, 0.05)


def test_with_one_size_of_message_the_latency_is_what_is_given() -> None:
    table = pilot({**PHONE, "constant": 0.0}, 31, np.random.default_rng(2), turn=0).iloc[::2]
    [device] = calibrated(table, PHONE["latency"])
    close(device, {**PHONE, "constant": 0.0}, 0.02)
    [blind] = calibrated(table)
    expected = 8 * 400_000 / (PHONE["latency"] + 8 * 400_000 / PHONE["down"])
    assert blind.latency_s < 0.01
    assert blind.downlink == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("same", [False, True])
def test_trainings_that_scatter_are_told_as_jitter(same: bool) -> None:
    rng = np.random.default_rng(4)
    tables = [pilot(PHONE, 40, rng, turn=name).assign(client=name) for name in "abcd"]
    table = pd.concat(tables)
    if same:  # nothing can be told of a constant then
        table = table.assign(samples=100, compute_s=200 / PHONE["compute"])
    table["compute_s"] *= np.exp(rng.normal(0, 0.15, len(table)))
    for group in fleet(calibrated(table)):
        assert group["compute_jitter"]["sigma"] == pytest.approx(0.15, rel=0.35)
    steady = table.assign(compute_s=0.3 + table.samples * table.epochs / PHONE["compute"])
    assert not any("compute_jitter" in group for group in fleet(calibrated(steady)))


@pytest.mark.parametrize("constant", [0.0, 3.0])
def test_a_fleet_that_was_simulated_has_its_jitter_again(constant: float) -> None:
    """What a training costs whatever its size becomes latency, and does not scatter."""
    rng = np.random.default_rng(7)
    table = pilot(PHONE, 2000, rng)
    jittered = PHONE["compute"] * np.exp(rng.normal(0, 0.2, len(table)))
    table["compute_s"] = constant + table.samples * table.epochs / jittered
    [group] = fleet(calibrated(table))
    assert group["compute_jitter"]["sigma"] == pytest.approx(0.2, rel=0.1)


def test_how_trainings_scatter_is_not_how_devices_differ() -> None:
    """Devices 20% apart, each measured four times with a jitter of 30%: it was 28%, and 30% again.

    The same devices without jitter are as far apart.
    """
    rng = np.random.default_rng(8)
    tables = []
    for number in range(300):
        truth = {**PHONE, "constant": 0.0, "compute": 80 * math.exp(rng.normal(0, 0.2))}
        table = pilot(truth, 4, rng).assign(client=f"phone {number}")
        tables.append(table.assign(samples=100, compute_s=200 / truth["compute"]))
    steady = pd.concat(tables).assign(download_bytes=40_000, upload_bytes=40_000)  # none to fit
    scattered = steady.assign(compute_s=steady.compute_s * np.exp(rng.normal(0, 0.3, len(steady))))
    for table, jitter in ((steady, {}), (scattered, {"sigma": pytest.approx(0.3, rel=0.05)})):
        [group] = fleet(calibrated(table))
        assert group["compute"]["sigma"] == pytest.approx(0.2, rel=0.1)
        assert group.get("compute_jitter", {}) == jitter


@pytest.mark.parametrize("scatter", [0.02, 0.3])
def test_latencies_that_are_alike_but_for_the_errors_of_transfers_are_one(scatter: float) -> None:
    rng = np.random.default_rng(8)
    truth = {**PHONE, "constant": 0.0}
    tables = [pilot(truth, 20, rng).assign(client=f"phone {number}") for number in range(40)]
    table = pd.concat(tables)
    for way in ("download_s", "upload_s"):
        table[way] *= np.exp(rng.normal(0, scatter, len(table)))
    [group] = fleet(calibrated(table))
    assert parse_quantity(group["latency"], DURATION) == pytest.approx(0.04, rel=0.05)


def test_how_transfers_scatter_is_not_how_far_devices_are_away() -> None:
    rng = np.random.default_rng(9)
    tables = []
    for number in range(100):
        truth = {**PHONE, "constant": 0.0, "latency": 0.04 * math.exp(rng.normal(0, 0.4))}
        tables.append(pilot(truth, 10, rng).assign(client=f"phone {number}"))
    table = pd.concat(tables)
    for way in ("download_s", "upload_s"):
        table[way] *= np.exp(rng.normal(0, 0.2, len(table)))
    [group] = fleet(calibrated(table))
    assert group["latency"]["sigma"] == pytest.approx(0.4, rel=0.12)


def test_trainings_that_scatter_show_no_constant_by_chance() -> None:
    rng = np.random.default_rng(5)
    truth = {**PHONE, "constant": 0.0}
    tables = [pilot(truth, 12, rng).assign(client=f"phone {number}") for number in range(40)]
    table = pd.concat(tables)
    table["compute_s"] *= np.exp(rng.normal(0, 0.2, len(table)))
    devices = calibrated(table)
    assert sum(device.constant_s > 0 for device in devices) <= 1
    assert np.median([device.latency_s for device in devices]) == pytest.approx(0.04, rel=0.02)
    assert np.median([device.compute for device in devices]) == pytest.approx(80, rel=0.03)


@pytest.mark.parametrize("n", [3, 30])
def test_trainings_that_take_as_long_as_they_should_to_the_last_digit(n: int) -> None:
    table = pd.read_csv(io.StringIO(PILOT))
    longer = pd.concat([table] * n).assign(group="devices")
    [device] = calibrated(longer)
    assert device.constant_s == 0
    assert device.compute == pytest.approx(10)


@pytest.mark.parametrize("latency_s", [-0.1, math.nan])
def test_a_latency_that_is_no_time(latency_s: float) -> None:
    table = pilot(PHONE, 8, np.random.default_rng(6))
    with pytest.raises(InputError, match=f"latency must be at least 0 s, but got {latency_s:g}"):
        calibrated(table, latency_s)


def test_a_latency_that_leaves_no_time_to_move_bytes() -> None:
    table = pilot(PHONE, 8, np.random.default_rng(6)).iloc[::2]
    with pytest.raises(InputError, match=r"latency of 10 s leaves no time .* client 'a' took 0.4"):
        calibrated(table, 10.0)


def test_phases_that_did_not_end_are_left_out() -> None:
    table = pilot(PHONE, 40, np.random.default_rng(3))
    table.loc[::4, "upload_s"] = np.nan
    [device] = calibrated(table)
    close(device, PHONE, 0.03)
    with pytest.raises(InputError, match="client 'a' has no measured upload"):
        calibrated(table.assign(upload_s=np.nan))


def test_who_never_ended_a_phase_is_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, torn = (pilot(PHONE, 20, np.random.default_rng(7)).assign(client=c) for c in "ab")
    path = tmp_path / "pilot.csv"
    pd.concat([whole, torn.assign(upload_s=np.nan)]).to_csv(path, index=False)
    assert main(["calibrate", str(path)]) == 0
    told = capsys.readouterr().out
    assert f"left out: {path}:22: client 'b' has no measured upload: column upload_s" in told
    assert yaml.safe_load(told[told.index("fleet:") :])["fleet"][0]["name"] == "devices-a"
    torn.assign(upload_s=np.nan).to_csv(path, index=False)
    assert main(["calibrate", str(path)]) == 2
    assert f"{path}:2: client 'b' has no measured upload" in capsys.readouterr().err


@pytest.mark.parametrize("constant", [0.3, 0.0])
def test_what_of_the_latency_is_a_constant_of_trainings_is_told(
    constant: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A latency of 190 ms, say, was 40 ms of the link's, and nobody could tell."""
    path = tmp_path / "pilot.csv"
    pilot({**PHONE, "constant": constant}, 60, np.random.default_rng(0)).to_csv(path, index=False)
    assert main(["calibrate", str(path)]) == 0
    told = capsys.readouterr().out
    assert ("constant: " in told) == bool(constant)
    if constant:
        (milliseconds,) = re.findall(r"trainings of 1 of 1 device take (\d+) ms", told)
        assert int(milliseconds) == pytest.approx(300, rel=0.05)


def test_a_fleet_is_written_as_people_write_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "pilot.csv", tmp_path / "fleet.yaml"
    table = pilot(PHONE, 20, np.random.default_rng(8))
    pd.concat([table.assign(client=f"a long name of phone {n}") for n in range(9)]).to_csv(path)
    assert main(["calibrate", str(path), "--out", str(out)]) == 0
    text = out.read_text()
    assert "e+0" not in text
    assert re.search(r"^  downlink: [\d.]{1,5} [kM]bit/s$", text, re.MULTILINE)
    assert main(["calibrate", str(path), "--out", str(out)]) == 2
    assert f"--out: {out} exists already; give --overwrite" in capsys.readouterr().err
    assert main(["calibrate", str(path), "--out", str(out), "--overwrite"]) == 0


def many(devices: int) -> list[Device]:
    rng = np.random.default_rng(4)
    tables = []
    for number in range(devices):
        spread = dict(zip(PHONE, rng.normal(0, [0.5, 0.4, 0.3, 0.0, 0.0]), strict=True))
        truth = {name: value * np.exp(spread[name]) for name, value in PHONE.items()}
        tables.append(pilot(truth, 20, rng).assign(client=f"phone {number}"))
    return calibrated(pd.concat(tables))


def test_many_devices_become_a_log_normal_distribution() -> None:
    [group] = fleet(many(100), 10_000)
    assert group["count"] == 10_000
    for number, sigma in (("compute", 0.5), ("downlink", 0.4), ("uplink", 0.3)):
        assert group[number]["distribution"] == "lognormal"
        assert group[number]["sigma"] == pytest.approx(sigma, rel=0.1)
    assert float(group["compute"]["median"].split()[0]) == pytest.approx(80, rel=0.1)


def test_the_picture_shows_every_error_and_what_rates_are_drawn_from() -> None:
    devices = many(MANY)
    errors, medians, rates = picture(devices).axes
    for number, phase in enumerate(("download", "compute", "upload")):
        assert np.size(errors.lines[number].get_xdata()) == 20 * MANY
        residuals = sorted(100 * device.residuals[phase] for device in devices)
        assert np.asarray(medians.lines[number].get_ydata()) == pytest.approx(residuals, rel=1e-7)
    dots, drawn, *_ = rates.lines
    assert np.size(dots.get_xdata()) == MANY
    shares, values = (np.asarray(data) for data in drawn.get_data())
    assert np.interp(1.0, shares, values) == pytest.approx(50, abs=0.1)
    assert len(picture(devices[: MANY - 1]).axes) == 2


def test_few_devices_stand_for_themselves_and_share_the_count() -> None:
    devices = many(3)
    groups = fleet(devices, 10)
    assert [group["count"] for group in groups] == [3, 4, 3]
    assert [group["name"] for group in groups] == [f"devices-phone {n}" for n in range(3)]
    assert float(groups[1]["compute"].split()[0]) == pytest.approx(devices[1].compute, rel=1e-3)
    with pytest.raises(InputError, match="2 devices are too few for 3 groups"):
        fleet(devices, 2)


def test_the_command_writes_a_fleet_that_a_scenario_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "pilot.csv", tmp_path / "fleet.yaml"
    pilot(PHONE, 20, np.random.default_rng(5)).to_csv(path, index=False)
    assert main(["calibrate", str(path), "--out", str(out), "--count", "5"]) == 0
    assert "1." in capsys.readouterr().out
    scenario = Scenario.from_dict(
        {"name": "calibrated", "data": {"dataset": "synthetic"}, "model": "logistic_regression"}
        | yaml.safe_load(out.read_text())
    )
    assert scenario.devices == 5
    assert main(["calibrate", str(path), "--latency", "5"]) == 2
    assert "error: --latency: expected a duration" in capsys.readouterr().err
    drawn = tmp_path / "errors.png"
    assert main(["calibrate", str(path), "--picture", str(drawn)]) == 0
    assert drawn.stat().st_size > 0
    assert main(["calibrate", str(path), "--picture", str(tmp_path / "errors.txt")]) == 2
    assert "--picture: " in capsys.readouterr().err
    nowhere = tmp_path / "nowhere" / "fleet.yaml"
    assert main(["calibrate", str(path), "--out", str(nowhere)]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
    assert main(["calibrate", str(tmp_path / "none.csv")]) == 2
    assert "can't read" in capsys.readouterr().err


def test_a_latency_that_was_not_measured_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It stood among the measured numbers, as 0."""
    path = tmp_path / "pilot.csv"
    for rows, told in ((slice(None, None, 2), True), (slice(None), False)):
        table = pilot({**PHONE, "constant": 0.0}, 31, np.random.default_rng(2), turn=0).iloc[rows]
        table.to_csv(path, index=False)
        assert main(["calibrate", str(path), "--latency", "9 ms"]) == 0
        words = "latency: not measured of 1 of 1 device, whose messages are all of one size; 9 ms"
        assert (words in capsys.readouterr().out) == told


def test_groups_have_names_that_a_scenario_takes() -> None:
    rng = np.random.default_rng(6)
    pilots = [pilot(PHONE, 20, rng).assign(client=name) for name in ("a0:5e", "a0/5e", "Müller")]
    groups = fleet(calibrated(pd.concat(pilots)))
    data = {"data": {"dataset": "synthetic"}, "model": "logistic_regression", "fleet": groups}
    names = [group.name for group in Scenario.from_dict(data).fleet]
    assert names == ["devices-a0-5e", "devices-a0-5e-1", "devices-M-ller"]
