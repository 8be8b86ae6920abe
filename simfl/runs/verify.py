"""Whether a run's results are what its scenario gives: it is run again, and compared."""

import json
import shutil
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from simfl.coordinators.base import MODEL, PERSONAL
from simfl.core.arguments import called
from simfl.errors import InputError, RunError, ScenarioError
from simfl.runs.folder.eventlog import decode
from simfl.runs.folder.files import RunFiles
from simfl.runs.folder.folder import (
    CLIENTS,
    PAST,
    PROVENANCE,
    ROUNDS,
    SCENARIO,
    event_lines,
    event_log,
    is_finished,
    require_run,
)
from simfl.runs.folder.growing_file import lines_of
from simfl.runs.folder.json_files import read_provenance, write_json
from simfl.runs.folder.stages import stages
from simfl.runs.options import Options
from simfl.runs.run import resume
from simfl.runs.simulation.simulate import AT
from simfl.scenario import Document
from simfl.scenario.problems import lost_folder
from simfl.scenario.scenario import read


@dataclass(frozen=True)
class Difference:
    """The first thing that a repeated run did in another way.

    Attributes:
        event: its number in the log, 1-based (None: the logs are equal, the models differ).
        field: of the event, or the file.
        recorded: its value in the folder.
        repeated: its value now.
    """

    event: int | None
    field: str
    recorded: Any
    repeated: Any

    def __str__(self) -> str:
        where = self.field if self.event is None else f"event {self.event}, {self.field!r}"
        recorded, repeated = (json.dumps(value) for value in (self.recorded, self.repeated))
        return f"{where}: {recorded} recorded, {repeated} repeated"


def verify(
    folder: Path, options: Options | None = None, files: Path | None = None
) -> Difference | None:
    """Do the run in `folder` again, elsewhere; return the first difference, None if there is none.

    Args:
        folder: of a finished run; nothing in it is changed.
        options: where to compute and where the data lie; whether training is skipped and the
            device are the run's.
        files: the folder of the files that its scenario names (None: the one that it tells).

    Raises:
        InputError: `folder` is no run, it has not finished, or there is no folder `files`.
        RunError: the repeated run failed, or a file of the recorded one is missing.
    """
    require_run(folder)
    if not is_finished(folder):
        _ = RunFiles(folder).summary  # which tells how to go on
    for path in (event_log(folder), folder / ROUNDS, folder / CLIENTS):
        if not path.exists():
            raise RunError(f"{path} is missing: there is nothing to compare with")
    if files is not None and not files.is_dir():
        raise InputError(f"{files}: no such folder")
    try:
        return _compared(folder, options, files)
    except ScenarioError as error:
        if files or not lost_folder(Document.load(folder / SCENARIO).data.get("folder")):
            raise
        given = called("--folder DIR", "files=DIR")
        told = f"or give {given}, where they are, and leave {SCENARIO} as it is"
        raise ScenarioError(f"{error}\n{told}") from error


def _compared(folder: Path, options: Options | None, files: Path | None) -> Difference | None:
    if files is None:  # what is damaged or may not be imported is told of here, not of its copy
        stages(folder)
    with TemporaryDirectory(prefix="simfl-verify-") as top:
        # A run of which nothing is recorded but what it should be, to be resumed.
        for path in (folder / SCENARIO, folder / PROVENANCE, *folder.glob(PAST)):
            shutil.copy(path, top)
        if files is not None:
            _name_folder(files, folder, Path(top))
        try:
            resume(Path(top), options)
        except ScenarioError as error:  # such as of a trace that is not there any more
            raise ScenarioError(str(error).replace(top, str(folder))) from error
        except RunError as error:  # whose remedies are for what is in no temporary folder
            why = str(error).partition(AT)[0]
            raise type(error)(f"{why}; once that is mended, verify {folder} again") from error
        return _first_difference(folder, Path(top))


def _name_folder(files: Path, folder: Path, copy: Path) -> None:
    """Have the `copy` of the run in `folder` look for what it names in `files`.

    Raises:
        ScenarioError: what it names is not there either, or may not be imported.
    """
    for path in (folder / SCENARIO, *folder.glob(PAST)):
        document = Document.load(path)
        there = {**document.data, "folder": str(files.resolve())}
        text = read(replace(document, data=there)).to_yaml()
        (copy / path.name).write_bytes(text.encode())
    recorded = read_provenance(folder)
    if recorded["scenario_sha256"] == _digest(folder / SCENARIO):  # else a change is told of
        recorded["scenario_sha256"] = _digest(copy / SCENARIO)
        write_json(copy / PROVENANCE, recorded)


def _first_difference(folder: Path, again: Path) -> Difference | None:
    logs = event_lines(folder), event_lines(again)
    for number, (recorded, repeated) in enumerate(zip_longest(*logs), start=1):
        if recorded != repeated:
            return _in_event(number, recorded, repeated)
    # Which a log that is not full may say less than.
    for name in (ROUNDS, CLIENTS):
        tables = lines_of(folder / name), lines_of(again / name)
        for number, (recorded, repeated) in enumerate(zip_longest(*tables), start=1):
            if recorded != repeated:
                return Difference(None, f"{name}:{number}", recorded, repeated)
    for name in (MODEL, PERSONAL):
        models = _digest(folder / name), _digest(again / name)
        if models[0] != models[1]:
            return Difference(None, name, *models)
    return None


def _in_event(number: int, recorded: str | None, repeated: str | None) -> Difference:
    facts, other = ({} if line is None else _facts(line) for line in (recorded, repeated))
    for name in {**facts, **other}:
        if facts.get(name) != other.get(name):
            return Difference(number, name, facts.get(name), other.get(name))
    return Difference(number, "line", recorded, repeated)


def _facts(line: str) -> dict[str, Any]:
    try:
        return decode(line)
    except RunError:
        return {"line": line}


def _digest(path: Path) -> str | None:
    return sha256(path.read_bytes()).hexdigest() if path.exists() else None
