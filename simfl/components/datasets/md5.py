"""Files whose MD5 torchvision knows: what is wrong with one that can't be read."""

from pathlib import Path

from simfl.components.datasets.torchvision_import import torchvision_datasets


def md5_fault(file: Path, md5: str) -> str:
    """Return what is wrong with a file that was published with that `md5` ("": nothing)."""
    whole = torchvision_datasets().utils.check_integrity(file, md5)
    return "" if whole else "its checksum (MD5) is not that of the published file"
