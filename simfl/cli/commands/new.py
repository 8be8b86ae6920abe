"""`simfl new`: a scenario to start from."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from simfl.cli import _complete, scenarios
from simfl.cli.app import app


@app.command("new")
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The file to write.")],
    example: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="A scenario that comes with simfl: quickstart, ...",
            autocompletion=_complete.shipped,
        ),
    ] = None,
) -> None:
    """Write a commented scenario to start from, and its schema.

    Editors use the schema to complete and check scenarios.
    """
    import re
    from importlib.resources import files

    from simfl.cli.commands.schema import BESIDE, schema
    from simfl.core.files import failure, write_output
    from simfl.errors import InputError, NameNotFound
    from simfl.runs.folder.outside import refuse_inside
    from simfl.scenario.document import safe_name

    refuse_inside(file.parent, "FILE.yaml")
    text = files("simfl.cli").joinpath("starter.yaml").read_text(encoding="utf-8")
    if example is not None:
        shipped = scenarios.shipped()
        if example not in shipped:
            raise NameNotFound("scenario", example, shipped)
        text = shipped[example].read_text(encoding="utf-8")
    named = re.compile(r"^name: \S+( *(?= #))?", re.MULTILINE)  # with what lies before a comment

    def renamed(line: re.Match[str]) -> str:
        return f"name: {safe_name(file.stem)}".ljust(len(line[0]) if line[1] else 0)

    lines = f"# yaml-language-server: $schema={BESIDE}\n" + named.sub(renamed, text, count=1)
    try:
        file.open("x").close()  # never overwrites, even if the file appears this very moment
    except FileExistsError:
        raise InputError(f"{file} exists already; choose another name") from None
    except OSError as error:
        raise failure(f"can't write {file}", error) from None
    try:
        write_output(file, lines.encode())
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    schema(file.parent / BESIDE)
    typer.echo(f"wrote {file}; next: simfl run {quote(str(file))}")
