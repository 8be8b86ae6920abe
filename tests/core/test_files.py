"""Files that appear whole: what is left of those that did not."""

import os
import subprocess
import sys
import time
from pathlib import Path

from simfl.core.files import write_output


def test_what_a_killed_process_left_of_a_file_goes_when_it_is_written_again(tmp_path: Path) -> None:
    """Halves of the reports of finished runs and studies stayed for ever."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    with subprocess.Popen(["sleep", "60"]) as living:
        kept = [f".report[1].html.{living.pid}.partial", f".report1.html.{dead.pid}.partial"]
        old = f".report[1].html.{dead.pid}.partial"
        fresh = f".report[1].html.{dead.pid}0000000.partial"  # of another container, perhaps
        for name in (old, fresh, *kept):
            (tmp_path / name).touch()
            if name != fresh:
                os.utime(tmp_path / name, (0, time.time() - 3600))
        write_output(tmp_path / "report[1].html", b"whole")
        living.kill()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"report[1].html", fresh, *kept}
