"""What a token bucket lets through at once, timed at a real interface."""

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from testbed.bursts import sooner_s
from tests.testbed.marks import needs_namespaces


@pytest.mark.slow
@needs_namespaces
def test_a_message_is_there_sooner_by_what_the_bucket_holds() -> None:
    assert 0.8 * 8 * 3200 / 2e6 < sooner_s(2e6) < 1.05 * 8 * 3200 / 2e6
