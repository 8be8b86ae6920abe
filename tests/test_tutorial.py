"""The tutorial notebook runs from top to bottom, in a kernel of its own."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
NEEDED = ("nbclient", "ipykernel")
missing = [name for name in NEEDED if find_spec(name) is None]


@pytest.fixture(scope="module")
def executed() -> Any:
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=300, kernel_name="python3")
    return client.execute(cwd=str(NOTEBOOK.parents[1]))


def outputs(executed: Any, text: str) -> list[Any]:
    """Return the outputs of the first cell of code that holds `text`."""
    return next(
        cell.outputs for cell in executed.cells if text in cell.source and "outputs" in cell
    )


@pytest.mark.filterwarnings("ignore")
def test_results_show_themselves(executed: Any) -> None:
    told = outputs(executed, "results = run(")
    [table] = [output.data for output in told if output.output_type == "execute_result"]
    assert table["text/html"].count("<tr") == 5  # two variants, two seeds
    progress = "".join(output.text for output in told if output.output_type == "stream")
    assert "deadline seed 1: " in progress
    [figure] = outputs(executed, "results.plot(")
    assert "image/png" in figure.data


@pytest.mark.filterwarnings("ignore")
def test_the_deadline_is_faster(executed: Any) -> None:
    [table] = outputs(executed, "results.compare(")
    html = table.data["text/html"]
    assert "wait ÷ each" in html
    ratio = re.search(r"<th>deadline</th>.*?(\d\.\d+)×", html, re.DOTALL)
    assert ratio is not None
    assert float(ratio.group(1)) > 1


def test_the_notebook_is_kept_without_outputs() -> None:
    assert '"execution_count": null' in NOTEBOOK.read_text()
    assert '"output_type"' not in NOTEBOOK.read_text()
