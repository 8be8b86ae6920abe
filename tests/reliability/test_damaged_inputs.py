"""Damaged scenarios and tables: refused in words, with exit code 2, or valid; nothing is left."""

import gzip
import resource
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from simfl import Scenario
from simfl.cli import main
from simfl.runs.job import Job
from simfl.runs.run import run_one
from tests.reliability.soak import EAGER, cases, parts
from tests.tiny import PILOT, TINY

REPOSITORY = Path(__file__).parents[2]
SCENARIOS = sorted((REPOSITORY / "scenarios").rglob("*.yaml"))
SCENARIOS += sorted((REPOSITORY / "tests/runs/golden").glob("*.yaml"))

ODD = [
    b"9" * 5000, b"1e999", b"-1e308", b"-0", b"nan", b".inf", b"0x1F", b"1_0", b"\x00", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\r", b"\t", b'"', b"'", b",", b";", b"[" * 3000, b"{a: " * 200,
    b"&a [*a, *a]", b"*a", b"!!python/object:os.system", b"!!binary x", b"null", b"~", b"x" * 70000,
    b"\xe2\x80\xa8", b"name: name: name", b"<<: *a", b"? ", b"- ", b"---\n", b"%YAML 9.9\n",
    b"=1+1", b"1e-320", b"../../etc/passwd", b"/dev/null", b"os:system", b"9999999999999999", b"-1",
    b"0", b"1e16",
]  # fmt: skip

TABLES = {
    "availability": b"device,start_s,end_s,state\na,0,9.5,1\na,14,40,0\na,61.25,90,1\nb,2,30,-1\n",
    "devices": b"speed,down,ms\n30,900,20\n55,1200.5,15\n12,300,80\n",
    "rates": b"time_s,factor\n0,1\n2.5,0.5\n4,2\n",
}
TABLE_SCENARIO = """\
data: {{dataset: {{name: generated, mean_samples: 5}}, partition: natural}}
model: logistic_regression
fleet:
  count: 5
  availability: {{name: trace, file: availability.csv{suffix}}}
  trace: {{file: devices.csv{suffix}, columns: {{compute: {{column: speed, unit: samples/s}},
    downlink: {{column: down, unit: kbit/s}}, latency: {{column: ms, unit: ms}}}}}}
network: {{server_uplink: 1 Mbit/s, rates: {{file: rates.csv}}}}
rounds: {{clients: 2, stop: {{rounds: 2, time: 30 s}}}}
"""


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Return `data` with one to three things changed, at random."""
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(0, len(data) + 1))
        stop = min(start + int(rng.integers(0, 12)), len(data))
        head, tail = data[:start], data[stop:]
        line = rng.choice(data.splitlines(keepends=True) or [b""])
        match rng.integers(7):
            case 0:
                data = head + tail
            case 1:
                data = head + ODD[rng.integers(len(ODD))] + tail
            case 2:
                data = head + rng.integers(0, 256, 2, dtype=np.uint8).tobytes() + tail
            case 3:
                data = head
            case 4:
                data = data.replace(line, line + line, 1)
            case 5:
                data = data.replace(line, b"", 1)
            case 6:
                data = data[:stop] + data[start:]
    return data


LONGEST_CPU_S, MOST_KIB = 10, 2**20
"""What none of them may take."""


@contextmanager
def bounded() -> Iterator[None]:
    """Break off what takes too long; fail if memory has grown too much."""

    def too_long(*_: object) -> None:
        raise AssertionError(f"took longer than {LONGEST_CPU_S} s")

    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handler = signal.signal(signal.SIGVTALRM, too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < MOST_KIB


def told(code: int, capsys: pytest.CaptureFixture, case: str) -> None:
    """Assert that a command ended well, or with a message for its user."""
    error = capsys.readouterr().err
    assert code in (0, 2), f"{case}: {error}"
    assert bool(code) == error.startswith("error: "), f"{case}: {error}"
    for jargon in ("internal error", "Traceback", "Warning"):
        assert jargon not in error, f"{case}: {error}"


@pytest.mark.parametrize("numbers", parts(cases(short=60, full=20_000)), ids=str)
def test_damaged_scenarios_are_valid_or_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture, numbers: range
) -> None:
    file = tmp_path / "damaged.yaml"
    for number in numbers:
        rng = np.random.default_rng(number)
        source = SCENARIOS[rng.integers(len(SCENARIOS))]
        file.write_bytes(damaged(source.read_bytes(), rng))
        with bounded():
            code = main(["validate", str(file)])
        told(code, capsys, f"{number}: {source.name}")
        assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("numbers", parts(cases(short=60, full=5000)), ids=str)
def test_damaged_tables_are_read_or_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture, numbers: range
) -> None:
    for number in numbers:
        rng = np.random.default_rng(number)
        suffix = ".gz" if rng.random() < 0.3 else ""
        tables = dict(TABLES)
        name = sorted(tables)[rng.integers(len(tables))]
        if not (zipped := bool(suffix) and rng.random() < 0.5):
            tables[name] = damaged(tables[name], rng)
        folder = tmp_path / f"{number}"
        folder.mkdir()
        for each, data in tables.items():
            packed = bool(suffix) and each != "rates"
            data = gzip.compress(data, mtime=0) if packed else data
            if zipped and each == name:
                data = damaged(data, rng)
            (folder / f"{each}.csv{suffix if packed else ''}").write_bytes(data)
        file = folder / "s.yaml"
        file.write_text(TABLE_SCENARIO.format(suffix=suffix))
        before = sorted(folder.iterdir())
        out = tmp_path / "out"
        command = ["run", str(file), "--out", str(out), "--time-only", "--quiet", "--no-report"]
        with bounded():
            code = main([*command, "--overwrite"])
        told(code, capsys, f"{number}: {name}")
        assert sorted(folder.iterdir()) == before
        shutil.rmtree(folder)


READERS = (
    ["check"], ["compare"], ["compare", "--format", "csv"], ["report", "--out", "out.html"],
    ["export", "--out", "out"], ["plot", "--out", "out.svg"], ["explain", "--no-what-if"],
    ["verify"], ["resume", "--no-report"], ["fork", "--at", "100 ms", "--no-report"],
)  # fmt: skip
RUNNING = ("verify", "resume", "fork")
"""They do as the scenario says, however long that takes; so it is left sound for them."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run with a checkpoint, beside measurements of a pilot."""
    top = tmp_path_factory.mktemp("whole")
    scenario = Scenario.from_dict({**TINY, "rounds": {"clients": 2, "stop": {"rounds": 2}}})
    run_one(Job("default", scenario, top / "seed-0"), EAGER)
    (top / "seed-0" / "pilot.csv").write_text(PILOT)
    return top / "seed-0"


@pytest.mark.parametrize("numbers", parts(cases(short=60, full=2000)), ids=str)
def test_damaged_runs_are_told_of_or_take_no_harm(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
    whole: Path,
    numbers: range,
) -> None:
    """What reads a run's folder says what is wrong with it, or takes no harm."""
    names = sorted(str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file())
    for number in numbers:
        rng = np.random.default_rng(number)
        top = tmp_path / f"{number}"
        folder = top / "runs" / "default" / "seed-0"
        shutil.copytree(whole, folder)
        monkeypatch.chdir(top)
        (folder / "pilot.csv").rename("pilot.csv")
        name = names[rng.integers(len(names))]
        command = READERS[rng.integers(len(READERS))]
        file = top / name if name == "pilot.csv" else folder / name
        words = ["calibrate", name] if name == "pilot.csv" else [*command, str(folder)]
        if words[0] in RUNNING and name == "scenario.yaml":
            continue
        if rng.random() < 0.3:
            (folder / "summary.json").unlink()
        if file.exists():
            file.write_bytes(damaged(file.read_bytes(), rng))
        with bounded():
            code = main([*words, "-q"] if words[0] in ("resume", "fork") else words)
        error = capsys.readouterr().err
        case = f"{number}: {name}, {' '.join(words)}: {code} {error}"
        assert code in (0, 1, 2), case
        assert not any(told in error for told in ("internal error", "Traceback")), case
        monkeypatch.chdir(tmp_path)
        shutil.rmtree(top)
