"""From a download to the files that simfl reads; each appears whole or not at all."""

import csv
import gzip
import io
import json
import shutil
import tarfile
import zipfile
from pathlib import Path

from simfl.core.files import whole

ARTEFACT_MBPS = (0.4209, 0.4210)
"""Upload rates that a client of M-Lab's reports whatever the link."""


def untouched(source: Path, target: Path) -> None:
    """Copy the download to the file `target`."""
    with source.open("rb") as file, whole(target) as out:
        shutil.copyfileobj(file, out)


def gunzip(source: Path, target: Path) -> None:
    """Write the content of a gzipped file."""
    with gzip.open(source) as file, whole(target) as out:
        shutil.copyfileobj(file, out)


def untar(source: Path, target: Path) -> None:
    """Write the member of an archive whose path `target` ends with."""
    with tarfile.open(source) as archive:
        member = f"{target.parent.name}/{target.name}"
        file = archive.extractfile(member)
        if file is None:
            raise KeyError(member)
        with file, whole(target) as out:
            shutil.copyfileobj(file, out)


def unzip(source: Path, target: Path) -> None:
    """Write the content of the gzipped member of a ZIP archive that is called as `target` is."""
    with zipfile.ZipFile(source) as archive:
        [member] = [name for name in archive.namelist() if name.endswith(f"/{target.name}.gz")]
        with archive.open(member) as packed, gzip.open(packed) as file, whole(target) as out:
            shutil.copyfileobj(file, out)


def mlab_ndt(source: Path, target: Path) -> None:
    """Write the CSV of a JSON list of M-Lab's speed tests: kbit/s, artefacts marked."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["test_id", "date", "down_kbps", "up_kbps", "upload_artifact"])
    low, high = ARTEFACT_MBPS
    for number, test in enumerate(json.loads(source.read_text(encoding="utf-8"))):
        down, up = float(test["dl_mbps"]), float(test["ul_mbps"])
        kbps = (round(1000 * rate, 1) for rate in (down, up))
        writer.writerow([number, test["date"], *kbps, int(low <= up <= high)])
    with whole(target) as out, gzip.GzipFile("", "wb", fileobj=out, mtime=0) as file:
        file.write(text.getvalue().encode())
