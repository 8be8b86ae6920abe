"""`simfl resume`: go on with an interrupted run."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli.app import app
from simfl.cli.run import tell, write


@app.command("resume")
def resume_command(
    folders: Annotated[
        list[Path], typer.Argument(metavar="RUN_DIR...", help="Run folders, or folders of them.")
    ],
    executor: shared.Executor = "inline",
    workers: shared.Workers = None,
    device: shared.Device = "cpu",
    data_dir: shared.DataDir = None,
    ray_address: shared.RayAddress = None,
    allow_code: shared.AllowCode = False,
    report: shared.Report = True,
    quiet: shared.Quiet = False,
    as_json: shared.AsJson = False,
) -> None:
    """Go on with interrupted runs; nothing is lost, and finished ones are left alone."""
    from simfl.cli._progress import Meter, display
    from simfl.core.code import importing
    from simfl.runs.result import find_runs
    from simfl.runs.run import resume
    from simfl.scenario import Scenario
    from simfl.sim.server.settings import Stop

    how = shared.options(executor, workers, device, data_dir, ray_address)
    results = []
    # A folder may be a stranger's, with the modules that its scenario names.
    consent = importing("anything" if allow_code else "nothing")
    with consent, display(quiet or as_json) as show:
        for found in find_runs(folders):
            listeners = []
            if show is not None:
                stop = Scenario.load(found.folder / "scenario.yaml").rounds.stop
                title = f"{found.provenance['variant']} seed {found.provenance['seed']}"
                listeners = [Meter(title, Stop(stop.rounds, stop.time), show).listen]
            results.append(resume(found.folder, how, listeners))
    tell(results, quiet, as_json)
    if report:
        top = folders[0] if len(folders) == 1 else Path()
        write(results, top, quiet or as_json)
