"""The application: global options, and every command of the folder `commands`."""

import importlib
import pkgutil
import sys
from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any

import typer

from simfl.core.arguments import commanded
from simfl.errors import InputError

app = typer.Typer(
    name="simfl",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ORDER = (
    "run", "resume", "fork", "verify", "check", "report", "compare", "evaluate", "explain",
    "plot", "watch", "tune", "validate", "fleet", "partition",
    "export", "new", "data", "list_", "describe", "schema",
)  # fmt: skip
"""How ``simfl --help`` lists the commands; others follow."""


@app.callback(invoke_without_command=True)
def simfl(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    _debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Simulate federated learning on fleets of unreliable devices: time, bytes, energy."""
    if version:
        from simfl import __version__

        typer.echo(f"simfl {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def load_commands() -> None:
    """Import every command file, in the order in which help lists them."""
    commands = importlib.import_module("simfl.cli.commands")
    names = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    for name in [*_ORDER, *sorted(names.difference(_ORDER))]:
        importlib.import_module(f"{commands.__name__}.{name}")


@cache
def _command() -> Any:
    """Return all commands as one; to make it out of their signatures takes longer than most."""
    load_commands()
    return typer.main.get_command(app)


def invoke(words: Sequence[str]) -> int:
    """Run the command that `words` are; return its exit code, or raise what it raises.

    Raises:
        InputError: a word is empty, which as a path would be the folder that simfl is run in.
    """
    for before, word in zip(["", *words], words, strict=False):
        option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if not value and (equals or not word):
            after = f"the word after {before}"  # which need not be its value
            named = option or (after if before.startswith("-") else "an argument")
            raise InputError(f"{named} is empty; is a variable of the shell not set?")
    try:
        with commanded():
            code = _command().main(args=list(words), prog_name="simfl", standalone_mode=False)
    except SystemExit:
        if type(sys.stdout).__name__ != "PacifyFlushWrapper":
            raise
        raise BrokenPipeError from None  # which Typer makes an exit of
    if code == 130:  # Typer makes an exit of an interruption
        raise KeyboardInterrupt
    return code if isinstance(code, int) else 0
