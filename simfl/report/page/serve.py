"""Serves `LiveRuns` on the loopback: read-only, to this machine's own browser and nobody else."""

import base64
import sys
import threading
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

from typing_extensions import override

from simfl.errors import InputError, SimflError
from simfl.report.page.live import LiveRuns
from simfl.report.page.rendering import asset, script

LOOPBACK = "127.0.0.1"


def server(runs: LiveRuns, port: int) -> ThreadingHTTPServer:
    """Return a server of `runs`, bound but not yet serving.

    Args:
        runs: what is shown.
        port: 0: any that is free.

    Raises:
        InputError: the port can't be had.
    """
    try:
        return _Server(runs, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--port: {port} can't be had: {reason}") from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, runs: LiveRuns, port: int) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        self.runs = runs
        self.lock = threading.Lock()
        self.hosts = {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a reader who goes away is no error
            super().handle_error(request, client_address)


def _hash(text: str) -> str:
    """Return what allows a script, as our templates write it, and no other."""
    digest = sha256(f"\n{text}".encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; "
        f"script-src {_hash(script())} {_hash(asset('live.js'))}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def _where(path: str) -> str | None:
    """Return which page of `LiveRuns` an address means, if any."""
    if path in ("/", "/all"):
        return {"/": "", "/all": "."}[path]
    head, _, where = path.partition("/runs/")
    return where or None if not head else None


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30  # a connection that says nothing holds no thread for ever

    def do_GET(self) -> None:
        """Answer a request."""
        if self.headers.get("Host", "").lower() not in self.server.hosts:
            # A page elsewhere whose name was made to lead here (DNS rebinding) reads nothing.
            self._answer(HTTPStatus.FORBIDDEN, "this server is for this machine's own pages\n")
            return
        try:
            with self.server.lock:
                status, text, kind = self._response()
        except Exception as error:  # a folder may hold anything; the others are still to be shown
            reason = str(error) if isinstance(error, SimflError) else f"damaged: {error!r}"
            status, text, kind = HTTPStatus.INTERNAL_SERVER_ERROR, f"{reason}\n", "text/plain"
        self._answer(status, text, kind)

    do_HEAD = do_GET  # noqa: N815 - the library's name

    def _response(self) -> tuple[HTTPStatus, str, str]:
        path = unquote(urlsplit(self.path).path, errors="replace")
        asks, path = path.startswith("/version/"), path.removeprefix("/version")
        runs, where = self.server.runs, _where(path)
        text = None if where is None else runs.version(where) if asks else runs.page(where)
        if text is None:
            return HTTPStatus.NOT_FOUND, "there is no such run\n", "text/plain"
        return HTTPStatus.OK, text, "text/plain" if asks else "text/html"

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = text.encode()
        self.send_response(status)
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body))}
        for name, value in {**headers, **HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @override
    def version_string(self) -> str:
        return "simfl"

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of every request."""
