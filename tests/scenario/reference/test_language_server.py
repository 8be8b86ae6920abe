"""The schema in an editor: what `yaml-language-server` completes, and what it complains of.

`npm install --prefix build/node yaml-language-server` puts the server where this looks for it.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simfl.cli import main

TOP = Path(__file__).parents[3]
INSTALLED = TOP / "build" / "node" / "node_modules" / ".bin"
PROGRAM = shutil.which("yaml-language-server", path=f"{INSTALLED}") or shutil.which(
    "yaml-language-server"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="yaml-language-server (npm) is not installed"),
]
HERE = "|"
"""Where the cursor is in a text."""


class Server:
    """A language server for the documents of a folder, spoken to as an editor does."""

    def __init__(self, folder: Path, schema: Path) -> None:
        assert PROGRAM is not None
        self._program = subprocess.Popen(
            [PROGRAM, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._folder, self._numbers = folder, iter(range(1, 1000))
        self._modeline = f"# yaml-language-server: $schema={schema.as_uri()}\n"
        self._diagnostics: dict[str, list[str]] = {}
        self.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={})
        self._send({"method": "initialized", "params": {}})
        settings = {"yaml": {"completion": True, "validate": True}}
        self._send({"method": "workspace/didChangeConfiguration", "params": {"settings": settings}})

    def completions(self, text: str) -> set[str]:
        """Return what is proposed where the cursor is."""
        before = text[: text.index(HERE)]
        place = {"line": 1 + before.count("\n"), "character": len(before.rpartition("\n")[2])}
        uri = self._open(text.replace(HERE, ""))
        answer = self.ask("textDocument/completion", textDocument={"uri": uri}, position=place)
        items = answer["items"] if isinstance(answer, dict) else answer
        return {item["label"].strip() for item in items}

    def complaints(self, text: str) -> list[str]:
        """Return what is said of a text."""
        uri = self._open(text)
        while uri not in self._diagnostics:
            self._take()
        return self._diagnostics[uri]

    def ask(self, method: str, **params: Any) -> Any:
        """Ask and wait for the answer."""
        number = next(self._numbers)
        self._send({"id": number, "method": method, "params": params})
        while True:
            message = self._take()
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message
                return message["result"]

    def close(self) -> None:
        """End the program."""
        self._program.kill()
        self._program.communicate()

    def _open(self, text: str) -> str:
        uri = (self._folder / f"scenario-{next(self._numbers)}.yaml").as_uri()
        document: dict[str, Any] = {"uri": uri, "languageId": "yaml", "version": 1}
        document["text"] = self._modeline + text
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return uri

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._program.stdin is not None
        self._program.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._program.stdin.flush()

    def _take(self) -> dict[str, Any]:
        """Return the next message; note diagnostics, answer what the server asks of an editor."""
        out = self._program.stdout
        assert out is not None
        length = 0
        while line := out.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(out.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            found = message["params"]["diagnostics"]
            self._diagnostics[message["params"]["uri"]] = [each["message"] for each in found]
        elif "method" in message and "id" in message:
            wanted = len(message["params"].get("items", ())) if message.get("params") else 0
            self._send({"id": message["id"], "result": [None] * wanted if wanted else None})
        return message


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("editor")
    schema = folder / "schema.json"
    assert main(["schema", "--out", str(schema)]) == 0
    server = Server(folder, schema)
    yield server
    server.close()


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("rounds:\n  |", {"clients", "policy", "stop"}),
        ("selection: |", {"uniform", "oort", "fedcor"}),
        ("selection:\n  name: |", {"uniform", "oort", "fedcor"}),
        ("selection: {name: fedcor, p|}", {"preset", "beta"}),
        ("training:\n  optimizer: {name: |}", {"sgd", "adam", "adamw"}),
        ("fleet:\n  - name: phones\n    device: |", {"phone-low", "raspberry-pi-4"}),
        ("fleet:\n  - {name: phones, c|}", {"compute", "uplink", "availability"}),
        ("fleet:\n  - {name: phones, compute: {distribution: |}}", {"lognormal", "uniform"}),
        ("fleet:\n  - {name: a, compute: {distribution: uniform, m|}}", {"min", "max"}),
        ("variants:\n  a: {selection: |}", {"uniform", "oort"}),
        ("variants:\n  a: {s|}", {"selection", "rounds.policy", "training.optimizer"}),
    ],
)
def test_an_editor_completes(server: Server, text: str, proposed: set[str]) -> None:
    assert proposed <= server.completions(text)


def test_an_editor_complains_of_what_is_wrong_and_only_of_that(server: Server) -> None:
    assert server.complaints("selection: unifrom\n")
    assert server.complaints("round: {clients: 3}\n")
    for path in sorted((TOP / "scenarios").glob("*.yaml")):
        assert server.complaints(path.read_text()) == [], path
