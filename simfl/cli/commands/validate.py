"""`simfl validate`: check scenarios without running them."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli import _options as shared
from simfl.cli._preview import tell_assumptions
from simfl.cli.app import app


@app.command("validate")
def validate(
    files: Annotated[
        list[Path], typer.Argument(metavar="SCENARIO.yaml", help="The scenarios to check.")
    ],
    changes: shared.Changes = None,
    variants: shared.Variants = None,
    time_only: Annotated[
        bool,
        typer.Option("--time-only", help="Check for a run with --time-only, which trains nothing."),
    ] = False,
    allow_code: shared.AllowCode = False,
) -> None:
    """Check scenarios: exit code 0, or 2 with the line of each error."""
    from simfl.errors import InputError, ScenarioError
    from simfl.report.formats import plural
    from simfl.runs.job import refuse_an_idle_seed
    from simfl.scenario import Document, expand
    from simfl.scenario.checks import one_of_each, refuse
    from simfl.scenario.one_variant import read_with

    failures: list[str] = []
    for file in files:
        try:
            document = Document.load(file).set(*(changes or ()))
            with shared.importing(allow_code):
                runs = expand(document, only=variants)
            refuse_an_idle_seed(document, (run.seed for run in runs))
            refuse(one_of_each((run.variant, run.scenario) for run in runs), trains=not time_only)
        except ScenarioError as error:
            failures.append(str(error))
        except InputError as error:  # such as a variant that only another file has
            failures.append(f"{file}: {error}" if len(files) > 1 else str(error))
        else:
            named = len({run.variant for run in runs})
            seeds = len(runs) // named
            typer.echo(f"{file}: ok ({plural(named, 'variant')}, {plural(seeds, 'seed')})")
            tell_assumptions(read_with(document, variants or ()), runs, trains=not time_only)
    if failures:
        raise ScenarioError("\n".join(failures))
