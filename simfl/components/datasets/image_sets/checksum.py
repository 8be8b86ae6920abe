"""Whether a file is the one that was published: others are not even opened."""

import hashlib
from pathlib import Path


def md5_fault(file: Path, md5: str) -> str:
    """Return what is wrong with a file that was published with that `md5` ("": nothing).

    Raises:
        OSError: it can't be read.
    """
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    return "" if found == md5 else "its checksum (MD5) is not that of the published file"
