"""What protocols add to a message, counted at a real interface."""

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from testbed.message_overhead import COMPUTE_S, crossed
from tests.testbed.marks import needs_namespaces


@pytest.mark.slow
@needs_namespaces
def test_a_message_adds_some_hundred_bytes_each_way() -> None:
    few, many = crossed(1, 1), crossed(1, 3)
    added = [(b - a) / (2 * len(COMPUTE_S)) for a, b in zip(few, many, strict=True)]
    assert all(100 < each < 1000 for each in added)
