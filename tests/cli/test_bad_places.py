"""Places that can't be written to, or must not be: refused, with what lies there as it was."""

import shutil
from pathlib import Path

import pytest

from simfl.cli import main
from tests.cli.refusals import GOOD, refused
from tests.tiny import PILOT

RUN = ["run", "s.yaml", "--time-only", "-q", "--seeds", "0", "--variant", "FedAvg"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a scenario, and a run of it below `runs`."""
    top = tmp_path_factory.mktemp("made")
    (top / "s.yaml").write_text(GOOD)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(top)
        assert main(RUN) == 0
    return top


@pytest.fixture
def ran(made: Path, here: Path) -> Path:
    """Return the folder of a run in a copy of `made`, in which commands are given."""
    shutil.copytree(made, here, dirs_exist_ok=True)
    [rounds] = Path("runs").rglob("rounds.csv")
    return rounds.parent


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "s.yaml", "--out", ""], "--out"),
        (["run", "s.yaml", "--out="], "--out"),
        (["run", "s.yaml", "--data-dir", ""], "--data-dir"),
        (["run", "s.yaml", "-q", ""], "the word after -q"),
        (["compare", ""], "an argument"),
    ],
)
def test_an_empty_word_is_no_path(
    words: list[str], named: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--out "$UNSET"` wrote into the folder that simfl was run in."""
    Path("s.yaml").write_text(GOOD)
    assert f"{named} is empty; is a variable of the shell not set?" in refused(capsys, *words)
    assert [path.name for path in here.iterdir()] == ["s.yaml"]


@pytest.mark.parametrize("out", ["s.yaml", "s.yaml/below"])
def test_a_folder_that_is_a_file(out: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(GOOD)
    told = refused(capsys, "run", "s.yaml", "--time-only", "--out", out)
    assert told == "s.yaml is a file; give another --out\n"
    told = refused(capsys, "run", "s.yaml", "--time-only", "--data-dir", "s.yaml")
    assert told == "the data folder s.yaml is a file\n"
    told = refused(capsys, "run", "s.yaml", "--time-only", "--data-dir", "nowhere")
    assert told == "the data folder nowhere does not exist\n"


def test_a_file_below_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.yaml").write_text(GOOD)
    told = refused(capsys, "fleet", "s.yaml", "--out", "s.yaml/picture.png")
    assert told == "--out: the folder s.yaml is a file\n"


@pytest.mark.parametrize("out", ["s.yaml", "s.yaml/below"])
@pytest.mark.usefixtures("ran")
def test_a_folder_to_export_to_that_is_a_file(out: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "export", "runs", "--out", out)
    assert told == f"can't write into {out}: a file lies where its folder is to be\n"


@pytest.mark.usefixtures("ran")
def test_a_circle_of_links(capsys: pytest.CaptureFixture[str]) -> None:
    """It was an internal error of export, new and run."""
    Path("circle").symlink_to("circle")
    for words in (["export", "runs", "--out", "circle/x"], ["new", "circle/new.yaml"]):
        assert "Too many levels of symbolic links" in refused(capsys, *words)
    again = ["run", "s.yaml", "--time-only", "-q", "--seeds", "0", "--out", "circle"]
    assert "Too many levels of symbolic links" in refused(capsys, *again)


@pytest.mark.usefixtures("ran")
def test_a_report_that_is_no_page(capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "report", "runs", "--out", "a.txt")
    assert told == "--out: a.txt must end in .html or .htm\n"
    assert not Path("a.txt").exists()


@pytest.mark.parametrize("torn", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ["export", "runs", "--out", "RUN"],
        ["export", "runs", "--out", "RUN/exported"],
        ["plot", "runs", "--out", "RUN/acc.svg"],
        ["fleet", "s.yaml", "--out", "RUN/fleet.png"],
        ["report", "runs", "--out", "RUN/page.html"],
        ["schema", "--out", "RUN/scenario.yaml"],
        ["new", "RUN/scenario.yaml"],
    ],
    ids=" ".join,
)
def test_nothing_else_is_written_into_the_folder_of_a_run(
    words: list[str], torn: bool, ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`simfl export` wrote its tables over the run's own."""
    folder = ran
    if torn:
        folder = Path("torn")
        shutil.copytree(ran, folder)
        (folder / "scenario.yaml").unlink()
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    told = refused(capsys, *(word.replace("RUN", str(folder)) for word in words))
    option = "FILE.yaml" if words[0] == "new" else "--out"
    assert told == f"{option}: {folder} is the folder of a run; give another\n"
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_a_place_is_in_a_run_however_it_is_called(
    ran: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inner = ran / "sub"
    inner.mkdir()
    top = Path("runs").resolve()
    monkeypatch.chdir(inner)
    told = refused(capsys, "export", str(top), "--out", "tables")
    assert "is the folder of a run; give another" in told
    assert not Path("tables").exists()


def test_a_runs_page_may_be_named_where_it_is(ran: Path) -> None:
    page = ran / "report.html"
    before = page.read_bytes()
    for named in (page, page.resolve()):
        assert main(["report", str(ran), "--out", str(named)]) == 0
    assert page.read_bytes() == before


def test_a_file_beside_those_of_a_run_is_told_of_as_such(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ran / "acc.svg").touch()
    told = refused(capsys, *RUN)
    why = "holds a run, and acc.svg, which simfl did not write there; move it away"
    assert told == f"{ran} {why}\n"


def test_a_schema_needs_a_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "schema", "--out", "nowhere/schema.json")
    assert told == "--out: the folder nowhere does not exist\n"
    assert not Path("nowhere").exists()


def test_a_fleet_does_not_replace_what_was_measured(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--overwrite took the measurements."""
    pilot = Path("pilot.csv")
    pilot.write_text(PILOT)
    for words in ([], ["--overwrite"]):
        told = refused(capsys, "calibrate", "pilot.csv", "--out", f"{here / 'pilot.csv'}", *words)
        assert told.endswith("pilot.csv has the measurements; give another name\n")
    assert pilot.read_text() == PILOT
