"""`simfl watch`: what is there is shown, over the loopback, and nothing else to anybody."""

import http.client
import json
import os
import platform
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from simfl.cli import main
from simfl.report.page.live import LiveRuns
from simfl.report.page.serve import HEADERS, server
from simfl.runs.folder.lock import is_locked, locked
from tests.made_runs import made_run

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "runs"
    for variant in ("fast", EVIL):
        for seed in (0, 1):
            made_run(top / "made", variant, seed, [0.1, 0.7], description=EVIL)
    made_run(tmp_path / "elsewhere", "secret", 0, [0.1])
    return top


class Browser:
    """Asks one server, one connection a question."""

    def __init__(self, port: int) -> None:
        self.port = port

    def __call__(
        self, path: str, method: str = "GET", host: str | None = None
    ) -> tuple[int, str, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"localhost:{self.port}")
        connection.endheaders()
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, dict(answer.getheaders())


@pytest.fixture
def ask(top: Path) -> Iterator[Browser]:
    with server(LiveRuns(top), 0) as serving:
        thread = threading.Thread(target=serving.serve_forever, args=(0.01,))
        thread.start()
        yield Browser(serving.server_port)
        serving.shutdown()
        thread.join()


def test_runs_are_listed_with_links_to_their_pages(ask: Browser) -> None:
    status, text, _ = ask("/")
    assert status == 200
    assert "4 runs, 0 running" in text
    links = re.findall(r'<a href="([^"]+)">', text)
    assert len(links) == 5  # each run, and all of the folder
    assert "/runs/made" in links
    for link in links:
        status, page, _ = ask(link)
        assert (status, "data-chart=" in page) == (200, True)
        assert 'href="/"' in page
    assert ask("/all")[1].count("<li data-css") >= 2


def test_numbers_in_names_ascend(tmp_path: Path) -> None:
    for name in ("r10", "r2", "r1"):
        made_run(tmp_path / name, "default", 0, [0.1])
    page = LiveRuns(tmp_path).page("") or ""
    names = re.findall(r"\br\d+\b", page)
    assert [*dict.fromkeys(names)] == ["r1", "r2", "r10"]


def test_tables_that_scroll_are_told_from_each_other_by_ear(ask: Browser) -> None:
    boxes = re.findall(r'<div class="scroll"([^>]*)>', ask("/")[1])
    assert boxes == [' tabindex="0" role="region" aria-label="runs of made"']


def test_what_users_wrote_is_escaped_and_no_other_script_can_run(ask: Browser) -> None:
    for path in ("/", "/runs/made", "/all"):
        _, text, headers = ask(path)
        assert EVIL not in text
        assert "&lt;img src=x" in text
        policy = headers["Content-Security-Policy"]
        assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert "default-src 'none'" in HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/runs/../../elsewhere/secret/seed-0", "/runs/%2e%2e/%2e%2e/elsewhere/secret/seed-0",
        "/runs/..%2felsewhere", "/runs/", "/runs", "/runs//made", "/runs/mad", "/runs/made/",
        "/etc/passwd", "//etc/passwd", "/version/runs/nobody", "/favicon.ico", "/runs/made%00",
        "/runs/made/fast/seed-0/scenario.yaml", "http://elsewhere/", "/runs/\xff",
    ],
)  # fmt: skip
def test_nothing_else_is_there(ask: Browser, path: str) -> None:
    status, text, _ = ask(path.encode("latin-1").decode("latin-1").replace("\xff", "%ff"))
    if path == "http://elsewhere/":  # an absolute address names a host; it is the header's
        assert status in (200, 404)
    else:
        assert (status, text) == (404, "there is no such run\n")
    assert "secret" not in text


def test_links_that_lead_outside_are_not_followed(ask: Browser, top: Path) -> None:
    (top / "linked").symlink_to(top.parent / "elsewhere", target_is_directory=True)
    inside = top / "made" / "stolen" / "seed-0"
    shutil.copytree(top.parent / "elsewhere" / "secret" / "seed-0", inside)
    (inside / "scenario.yaml").unlink()
    (inside / "scenario.yaml").symlink_to(
        top.parent / "elsewhere" / "secret" / "seed-0" / "scenario.yaml"
    )
    assert "4 runs" in ask("/")[1]
    assert ask("/runs/linked/secret/seed-0")[0] == 404
    assert ask("/runs/made/stolen/seed-0")[0] == 404


@pytest.mark.parametrize(
    "host", ["", "evil.example", "evil.example:80", "127.0.0.1", "localhost:1"]
)
def test_other_hosts_read_nothing(ask: Browser, host: str) -> None:
    status, text, headers = ask("/", host=host)
    assert status in (400, 403)
    assert "made" not in text
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(ask: Browser, method: str) -> None:
    assert ask("/", method)[0] == 501
    assert ask("/", "HEAD")[:2] == (200, "")


def test_it_listens_on_the_loopback_only(top: Path) -> None:
    with server(LiveRuns(top), 0) as serving:
        assert serving.server_address[0] == "127.0.0.1"
        assert serving.socket.family == socket.AF_INET


def test_pages_change_as_their_runs_grow(ask: Browser, top: Path) -> None:
    def versions() -> tuple[str, str, str]:
        paths = ("/version/", "/version/runs/made/fast/seed-0", "/version/runs/made/fast/seed-1")
        return tuple(ask(path)[1] for path in paths)  # type: ignore[return-value]

    before, page = versions(), ask("/runs/made/fast/seed-0")[1]
    assert f'data-version="{before[1]}"' in page
    assert versions() == before
    folder = top / "made" / "fast" / "seed-0"
    with (folder / "rounds.csv").open("a") as file:
        file.write((folder / "rounds.csv").read_text().splitlines()[-1] + "\n")
    after = versions()
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, True]
    (folder / "summary.json").unlink()
    assert "stopped; simfl resume goes on" in ask("/")[1]
    with locked(folder):
        assert "1 running" in ask("/")[1]
        assert "Not finished" in ask("/runs/made/fast/seed-0")[1]
    provenance = json.loads((folder / "provenance.json").read_text())
    provenance["failed"] = {"round": 3, "error": "ValueError: no"}
    (folder / "provenance.json").write_text(json.dumps(provenance))
    # On one line it pushed the rounds, times and accuracies of all runs out of sight.
    assert '<td class="wrap state">failed in round 3: ValueError: no</td>' in ask("/")[1]
    assert '<td class="text">finished</td>' in ask("/")[1]


@pytest.mark.parametrize("host", ["", "a-container"])
def test_a_lock_left_by_a_dead_process_is_no_run(tmp_path: Path, host: str) -> None:
    """Numbers of processes and names of machines say nothing: containers have their own."""
    with locked(tmp_path):
        assert is_locked(tmp_path)
        text = (tmp_path / ".lock").read_text()
        (tmp_path / ".lock").write_text(text.replace(f"process {os.getpid()}", "process 999999"))
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)
    (tmp_path / ".lock").write_text(text.replace(platform.node(), host or platform.node()))
    assert not is_locked(tmp_path)


def test_who_looks_hinders_nobody(tmp_path: Path) -> None:
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            is_locked(tmp_path)

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        for _ in range(300):
            with locked(tmp_path):
                assert is_locked(tmp_path)
    finally:
        over.set()
        watcher.join()


def test_a_damaged_run_is_told_and_the_others_are_shown(ask: Browser, top: Path) -> None:
    folder = top / "made" / "fast" / "seed-1"
    (folder / "scenario.yaml").write_text("[")
    (folder / "summary.json").write_text("{")
    assert ask("/runs/made/fast/seed-1")[0] == 500
    status, text, _ = ask("/")
    assert status == 200
    assert "be read" in text
    assert ask("/runs/made/fast/seed-0")[0] == 200


def test_a_run_that_has_lost_its_scenario_is_told_until_it_is_back(ask: Browser, top: Path) -> None:
    """It was left out without a word."""
    scenario = top / "made" / "fast" / "seed-1" / "scenario.yaml"
    text = scenario.read_text()
    scenario.unlink()
    status, page, _ = ask("/")
    assert status == 200
    assert "seed-1 lacks its scenario.yaml; put it back" in page
    status, page, _ = ask("/runs/made/fast/seed-1")
    assert status == 500
    assert "lacks its scenario.yaml" in page
    scenario.write_text(text)
    assert "lacks its" not in ask("/")[1]
    assert ask("/runs/made/fast/seed-1")[0] == 200


@pytest.mark.parametrize("below", ["", "made", "made/fast", "made/fast/seed-0"])
def test_any_folder_is_watched_a_run_itself_too(top: Path, below: str) -> None:
    runs = LiveRuns(top / below)
    text = runs.page("")
    assert text is not None
    assert "seed-0" in text
    assert runs.page(".") is not None


def test_an_empty_folder_is_watched_too(tmp_path: Path) -> None:
    assert "There is no run below" in str(LiveRuns(tmp_path).page(""))


class TestCommand:
    def test_what_can_not_be_watched_is_told(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["watch", str(tmp_path / "nowhere")]) == 2
        assert "nowhere is not a folder" in capsys.readouterr().err
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            assert main(["watch", str(tmp_path), "--port", str(port)]) == 2
            assert f"--port: {port} can't be had" in capsys.readouterr().err
        assert main(["watch", str(tmp_path), "--port", "70000"]) == 2
        assert "must be at most 65,535, but got '70000'; see simfl watch" in capsys.readouterr().err

    @pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
    def test_it_ends_as_other_commands_do(self, top: Path, ending: signal.Signals) -> None:
        """It was done, as far as a service manager could tell, whoever had ended it."""
        command = [sys.executable, "-m", "simfl", "watch", str(top), "--port", "0"]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert child.stdout is not None
        said = child.stdout.readline()
        match = re.search(r"http://127\.0\.0\.1:(\d+)/", said)
        assert match, said
        assert Browser(int(match[1]))("/")[0] == 200
        child.send_signal(ending)
        _, error = child.communicate(timeout=30)
        assert (child.returncode, error) == (128 + ending, "interrupted\n")
