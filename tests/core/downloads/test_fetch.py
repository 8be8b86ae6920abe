"""Downloads from a server of our own: checked, whole or not at all, gone on with where cut off."""

import gzip
import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any

import pytest

from simfl.cli import main
from simfl.core.downloads.fetch import fetch
from simfl.core.downloads.origins import ORIGINS, Download, Origin
from simfl.core.downloads.unpack import gunzip, mlab_ndt, untar, untouched, unzip
from simfl.errors import InputError
from tests.reliability.disks import Disk, full

CONTENT = bytes(range(256)) * 1000


class Server:
    """Serves `files`; may break off after `limit` bytes, or ignore that a part is asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.limit: int | None = None
        self.ranges = True
        self.asked: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.reply(self)

            def log_message(self, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = Thread(target=self.http.serve_forever)
        self.thread.start()

    def reply(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range")
        self.asked.append(wanted)
        if request.path not in self.files:
            request.send_error(404)
            return
        content = self.files[request.path]
        part = bool(wanted) and self.ranges
        if part:
            content = content[int(str(wanted).removeprefix("bytes=").removesuffix("-")) :]
        request.send_response(206 if part else 200)
        request.end_headers()
        request.wfile.write(content[: self.limit])

    def serve(self, name: str, content: bytes, **facts: Any) -> Download:
        self.files[f"/{name}"] = content
        url = f"http://127.0.0.1:{self.http.server_address[1]}/{name}"
        return Download(url, len(content), hashlib.sha256(content).hexdigest(), **facts)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.thread.join()
    server.http.server_close()


@pytest.fixture
def thing(server: Server, monkeypatch: pytest.MonkeyPatch) -> Download:
    """A trace called `thing` that is downloaded as it is."""
    download = server.serve("thing.bin", CONTENT, makes=("thing.bin",), unpack=untouched)
    register(monkeypatch, download)
    return download


def register(monkeypatch: pytest.MonkeyPatch, *downloads: Download) -> None:
    files = tuple(name for download in downloads for name in download.makes)
    origin = Origin("trace", "a thing", "CC0", "https://example.org", files, downloads)
    monkeypatch.setitem(ORIGINS, "thing", origin)


def test_a_file_arrives_whole_and_alone(thing: Download, server: Server, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    [file] = fetch("thing", tmp_path / "new", lambda _url, *there: told.append(there))
    assert file.read_bytes() == CONTENT
    assert [path.name for path in file.parent.iterdir()] == ["thing.bin"]
    assert told[-1] == (len(CONTENT), len(CONTENT))
    fetch("thing", tmp_path / "new")
    assert len(server.asked) == 1  # what is there is not asked for again


@pytest.mark.parametrize("ranges", [True, False])
def test_it_goes_on_where_it_was_cut_off(
    ranges: bool, thing: Download, server: Server, tmp_path: Path
) -> None:
    server.limit, server.ranges = 1000, ranges
    (tmp_path / ".thing.bin.partial").write_bytes(CONTENT[:70_000])
    if not ranges:
        server.limit = None
    [file] = fetch("thing", tmp_path)
    assert file.read_bytes() == CONTENT
    assert server.asked[0] == "bytes=70000-"
    assert [path.name for path in tmp_path.iterdir()] == ["thing.bin"]


def test_a_server_that_has_nothing_more_to_say(
    thing: Download, server: Server, tmp_path: Path
) -> None:
    server.files["/thing.bin"] = CONTENT[:5000]
    with pytest.raises(InputError, match=f"ended after 5000 of {len(CONTENT)} bytes"):
        fetch("thing", tmp_path)
    server.files["/thing.bin"] = CONTENT
    assert fetch("thing", tmp_path)[0].read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=5000-"


def test_a_server_that_breaks_off_in_the_middle_of_a_part(
    thing: Download, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply in parts ended the command with a traceback."""

    def reply(request: BaseHTTPRequestHandler) -> None:
        request.protocol_version = "HTTP/1.1"
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.wfile.write(b"1000\r\n" + CONTENT[:17])
        request.close_connection = True

    monkeypatch.setattr(server, "reply", reply)
    with pytest.raises(InputError, match="could not be downloaded"):
        fetch("thing", tmp_path)


def test_where_nothing_came_no_folder_is_left(
    thing: Download, server: Server, tmp_path: Path
) -> None:
    server.files.clear()
    (tmp_path / "mine").mkdir()
    for place in ("new/inner", "mine/new", "mine"):
        with pytest.raises(InputError, match="could not be downloaded"):
            fetch("thing", tmp_path / place)
    assert [path.name for path in tmp_path.rglob("*")] == ["mine"]


def test_other_bytes_are_not_kept(thing: Download, server: Server, tmp_path: Path) -> None:
    server.files["/thing.bin"] = CONTENT[::-1]
    with pytest.raises(InputError, match=r"SHA-256 is \w{64}, expected \w{64}; nothing was kept"):
        fetch("thing", tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_longer_than_it_should_be_is_not_kept(
    thing: Download, server: Server, tmp_path: Path
) -> None:
    server.files["/thing.bin"] = CONTENT + b"more"
    with pytest.raises(InputError, match="nothing was kept"):
        fetch("thing", tmp_path)
    assert not list(tmp_path.iterdir())


def test_archives_are_unpacked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in ("set/one", "set/two", "../evil"):
            member = tarfile.TarInfo(name)
            member.size = len(name)
            archive.addfile(member, io.BytesIO(name.encode()))
    makes = ("set/one", "set/two")
    tar = server.serve("set.tar.gz", packed.getvalue(), makes=makes, unpack=untar)
    single = gzip.compress(b"plain")
    register(
        monkeypatch, tar, server.serve("plain.gz", single, makes=("raw/plain",), unpack=gunzip)
    )
    contents = [file.read_bytes() for file in fetch("thing", tmp_path / "data")]
    assert contents == [b"set/one", b"set/two", b"plain"]
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_a_zip_of_gzipped_files_is_unpacked(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As EMNIST's, whose archive has other files too."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("one-ubyte", "other-one-ubyte", "two-ubyte"):
            archive.writestr(f"gzip/{name}.gz", gzip.compress(name.encode()))
        archive.writestr("gzip/mapping.txt", "0 48")
    makes = ("SET/raw/one-ubyte", "SET/raw/two-ubyte")
    register(monkeypatch, server.serve("gzip.zip", packed.getvalue(), makes=makes, unpack=unzip))
    contents = [file.read_bytes() for file in fetch("thing", tmp_path)]
    assert contents == [b"one-ubyte", b"two-ubyte"]
    assert len(list(tmp_path.glob("SET/raw/*"))) == 2
    assert len(list(tmp_path.iterdir())) == 1


def test_speed_tests_become_a_table(tmp_path: Path) -> None:
    tests = [
        {"date": "2022-06-27", "dl_mbps": "10.087588664614543", "ul_mbps": "4.5976640414778105"},
        {"date": "2022-06-08", "dl_mbps": "36.918304079416536", "ul_mbps": "0.42097368824453069"},
    ]
    (tmp_path / "tests.json").write_text(json.dumps(tests))
    mlab_ndt(tmp_path / "tests.json", tmp_path / "tests.csv.gz")
    assert gzip.decompress((tmp_path / "tests.csv.gz").read_bytes()).decode().splitlines() == [
        "test_id,date,down_kbps,up_kbps,upload_artifact",
        "0,2022-06-27,10087.6,4597.7,0",
        "1,2022-06-08,36918.3,421.0,1",
    ]


def test_the_command_lists_what_there_is_and_fetches_it(
    thing: Download, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SIMFL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["data"]) == 0
    text = capsys.readouterr().out
    assert "thing                 to be downloaded\n    trace: a thing\n    CC0; https" in text
    assert f"{len(CONTENT):,} bytes, SHA-256 {thing.sha256}" in text
    assert "synthetic             built in" in text
    assert main(["data", "fetch", "thing"]) == 0
    assert capsys.readouterr().out == "thing.bin\n"
    assert main(["data", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["thing"]["where"] == str(tmp_path)
    assert len(rows["fashion_mnist"]["downloads"]) == 4


def test_what_is_there_in_part_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Of emnist, one split is often all that anybody has and needs."""
    monkeypatch.setenv("SIMFL_DATA", str(tmp_path))
    files = [name for name in ORIGINS["emnist"].files if "emnist-digits" in name]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    main(["data"])
    told = f"to be downloaded (4 of 24 files are in {tmp_path})\n"
    assert re.search(rf"^emnist +{re.escape(told)}", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [(full, 1, "No space left on device"), (KeyboardInterrupt, 130, "interrupted")],
)
def test_a_download_is_whole_or_not_there(
    thing: Download, tmp_path: Path, capsys: Any, fault: Any, code: int, words: str
) -> None:
    """On a full disk, or interrupted, at each write; and the same command goes on."""
    disk = Disk(10**9)
    with disk.installed():
        assert main(["data", "fetch", "thing", "--to", str(tmp_path / "whole")]) == 0
    assert disk.writes > 1
    for room in range(-1, disk.writes):
        words_ = ["data", "fetch", "thing", "--to", str(tmp_path / f"{room}")]
        file = tmp_path / f"{room}" / "thing.bin"
        with Disk(room, fault).installed():
            assert main(words_) == code
        assert words in capsys.readouterr().err
        assert not file.exists()
        assert main(words_) == 0
        assert [path.read_bytes() for path in file.parent.iterdir()] == [CONTENT]


@pytest.mark.parametrize(
    ("name", "message"),
    [("mlab", "did you mean 'mlab_ndt'"), ("shakespeare", "can't be downloaded: LEAF's")],
)
def test_what_cannot_be_fetched_is_exit_code_2(
    name: str, message: str, tmp_path: Path, capsys: Any
) -> None:
    assert main(["data", "fetch", name, "--to", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_a_place_that_is_a_file_is_exit_code_2(
    thing: Download, tmp_path: Path, capsys: Any
) -> None:
    place = tmp_path / "file"
    place.touch()
    assert main(["data", "fetch", "thing", "--to", str(place)]) == 2
    told = capsys.readouterr().err
    assert told == f"error: can't write into {place}: a file lies where its folder is to be\n"


def test_a_server_that_says_no_is_exit_code_2(
    thing: Download, server: Server, tmp_path: Path, capsys: Any
) -> None:
    server.files.clear()
    assert main(["data", "fetch", "thing", "--to", str(tmp_path)]) == 2
    assert "could not be downloaded" in capsys.readouterr().err


def test_a_scenario_that_misses_a_trace_names_the_command(tmp_path: Path, capsys: Any) -> None:
    scenario = Path(__file__).parents[3] / "scenarios" / "real_phones.yaml"
    here = tmp_path / "real_phones.yaml"
    here.write_text(scenario.read_text())
    (tmp_path / "flash_train_time.csv").write_bytes(
        scenario.with_name("flash_train_time.csv").read_bytes()
    )
    assert main(["validate", str(here)]) == 2
    assert "`simfl data fetch mlab_ndt --to FOLDER` gets it" in capsys.readouterr().err


def test_who_comes_second_waits_for_the_first(
    thing: Download, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the jobs of a cluster do, which share a folder of data."""
    half_way, reply = Barrier(2), server.reply

    def slowly(request: BaseHTTPRequestHandler) -> None:
        with suppress(BrokenBarrierError):  # nobody else comes
            half_way.wait(0.5)
        reply(request)

    monkeypatch.setattr(server, "reply", slowly)
    with ThreadPoolExecutor(2) as pool:
        fetched = [pool.submit(fetch, "thing", tmp_path) for _ in range(2)]
    for [file] in (one.result() for one in fetched):
        assert file.read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["thing.bin"]
    assert server.asked == [None]
