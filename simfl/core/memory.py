"""Whether what is about to be allocated fits into this machine, and whether it did not."""

from pathlib import Path

from simfl.errors import InputError

_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def free_bytes() -> int | None:
    """Return the memory that is left to this process, containers' limits respected, if known."""
    limits = []
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            limits.append(1024 * int(line.split()[1]))
    limits += [int(bound) for path in _LIMITS if (bound := _text(path).strip()).isdigit()]
    return min(limits, default=None)


def require_memory(n_bytes: int, what: str) -> None:
    """Raise an error if `n_bytes` are more than there are.

    Args:
        n_bytes: about to be allocated.
        what: needs them; begins the message.

    Raises:
        InputError: they don't fit; tells how many are needed and how many there are.
    """
    free = free_bytes()
    if free is not None and n_bytes > free:
        raise InputError(
            f"{what} needs {n_bytes / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} are left"
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out; PyTorch has no error of its own for it on a CPU."""
    words = "can't allocate memory", "out of memory"
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(part in str(error) for part in words)
    )


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeError):
        return ""
