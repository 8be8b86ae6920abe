"""Documents -> scenarios: what is written, typed and checked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr, ValidationError

from simfl.core.arguments import require_several
from simfl.core.code import beside
from simfl.errors import ScenarioError
from simfl.scenario.checks import objections
from simfl.scenario.document import Document, file_names, safe_name
from simfl.scenario.lost_files import impossible_names, lost_files
from simfl.scenario.parts.experiment import Experiment
from simfl.scenario.problems import Problem, explained, lost_folder, report, truths_for_numbers


class Scenario(Experiment):
    """Everything that defines an experiment; see `Scenario.load`."""

    _document: Document | None = PrivateAttr(None)

    @classmethod
    def load(cls, path: str | Path, overrides: Sequence[str] = ()) -> "Scenario":
        """Return the scenario in a YAML file.

        Args:
            path: the file.
            overrides: changes such as ``rounds.clients=20``.

        Raises:
            ScenarioError: everything that is wrong with it, each problem with its place.
        """
        require_several("overrides", overrides, "['rounds.clients=10']")
        return read(Document.load(path).set(*overrides))

    @classmethod
    def from_dict(
        cls, data: Mapping[str, Any], *, folder: Path | None = None, overrides: Sequence[str] = ()
    ) -> "Scenario":
        """Return the scenario that plain data, as in YAML, describe; see `load`."""
        require_several("overrides", overrides, "['rounds.clients=10']")
        return read(Document.of(data, folder=folder).set(*overrides))


def read(document: Document) -> Scenario:
    """Return the scenario that `document` describes.

    Raises:
        ScenarioError: everything that is wrong with it, a line each:
            ``scenario.yaml:14:9: fleet[0].uplink: expected a data rate such as ...``.
    """
    scenario, problems = check(document)
    if scenario is None:
        raise ScenarioError(report(document, problems))
    return scenario


def check(document: Document) -> tuple[Scenario | None, list[Problem]]:
    """Return the scenario that `document` describes, or everything that is wrong with it."""
    data = dict(document.data)
    folder = document.folder
    if isinstance(given := data.get("folder"), str):
        folder = (folder or Path()) / given
    if problems := list(impossible_names(document.data, folder)):
        return None, problems
    named = [*file_names(data)]
    if (named and folder is not None) or not all(Path(name).is_absolute() for name in named):
        # Whoever reads the run later may have another working directory.
        data["folder"] = str((folder or Path()).absolute())
    if "name" not in data and document.folder is not None:
        data["name"] = safe_name(Path(document.source).stem)
    try:
        with beside(folder):
            scenario = Scenario.model_validate(data, context={"folder": folder})
    except ValidationError as error:
        lost, problems = lost_folder(data.get("folder")), explained(document, error)
        files = [] if lost else lost_files(document.data, folder, problems)
        return None, [*lost, *problems, *files]
    if problems := list(truths_for_numbers(document.data, scenario.to_dict())):
        return None, problems
    if told := list(objections(scenario)):
        told += objections(scenario, look=True)  # so that all are told, of what is in files, too
        problems = [Problem(path, message) for path, message in told]
        return None, [*lost_folder(data.get("folder")), *problems]
    scenario._document = document
    return scenario, []
