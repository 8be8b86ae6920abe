"""`simfl watch`: runs as they grow, in a browser on this machine."""

from pathlib import Path
from typing import Annotated

import typer

from simfl.cli.app import app


@app.command("watch")
def watch_command(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="Folder of run folders.", show_default=True)
    ] = Path("runs"),
    port: Annotated[
        int,
        typer.Option("--port", min=0, max=65535, help="Port to serve on; 0: any free port."),
    ] = 8411,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Show runs live, on a page that refreshes itself.

    It is read-only, and only this machine can reach it.  Ctrl-C stops it.
    """
    from simfl.report.page.live import LiveRuns
    from simfl.report.page.serve import LOOPBACK, server

    with server(LiveRuns(folder), port) as serving:
        address = f"http://{LOOPBACK}:{serving.server_port}/"
        typer.echo(f"Watching {folder} at {address} (Ctrl-C ends it)")
        if browser:
            typer.launch(address)
        serving.serve_forever()
