"""What a sender's own kernel lets queue, looked at over a real interface."""

import statistics

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from testbed.under_way import measure
from tests.testbed.marks import needs_namespaces


@pytest.mark.slow
@needs_namespaces
def test_a_senders_connections_queue_far_less_than_their_windows_allow() -> None:
    sent = [one for message in measure(40e6) for one in sorted(message)[1:]]
    assert statistics.mean(one.under_way for one in sent) < 5
    assert statistics.mean(one.window for one in sent) >= 10
