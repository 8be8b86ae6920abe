"""What a command says beside what it does: on stderr, which scripts throw away."""

from contextlib import suppress

import typer


def say_aside(text: str) -> None:
    """Print a line on stderr; where it can't be written the command does its work all the same."""
    with suppress(OSError):  # the disk is full that it goes to, or whoever read it has left
        typer.echo(text, err=True)
