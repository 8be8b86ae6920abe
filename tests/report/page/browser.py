"""Chromium loads a page in a frame, with a script of ours that plays the reader and reports."""

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NEEDS_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (Debian: apt install chromium)"),
]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--allow-file-access-from-files", "--virtual-time-budget=4000", "--dump-dom",
)  # fmt: skip
WATCH = """<script>
window.problems = [];
addEventListener("error", e => problems.push(e.message));
for (const name of ["error", "warn"]) console[name] = (...words) => problems.push(words.join(" "));
</script>"""
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe src="page.html" width="%d" height="900"
style="border:0"></iframe><script>addEventListener("message", e => {
  const pre = document.createElement("pre"); pre.id = "report"; pre.textContent = e.data;
  document.body.appendChild(pre); });</script>"""


def read(
    page: Path, play: str, tmp_path: Path, width: int = 1280, flags: Sequence[str] = ()
) -> Any:
    """Return what `play`, the body of a function in the page, returns; fail on console errors."""
    html = page.read_text(encoding="utf-8").replace("<head>", f"<head>{WATCH}", 1)
    end = (
        f"<script>const found = (() => {{{play}}})();"
        "setTimeout(() => parent.postMessage(JSON.stringify({found, problems}), '*'), 300);"
        "</script></body>"
    )
    (tmp_path / "page.html").write_text(html.replace("</body>", end))
    (tmp_path / "frame.html").write_text(FRAME % width)
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [str(CHROMIUM), *FLAGS, *flags, profile, f"--window-size={width + 20},1000"]
    done = subprocess.run(
        [*command, (tmp_path / "frame.html").as_uri()], capture_output=True, text=True, timeout=120
    )
    match = re.search(r'<pre id="report">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stderr[-2000:]
    report = json.loads(unescape(match[1]))
    assert report["problems"] == []
    return report["found"]
