"""What is sent of uploads that were called off, counted at a real interface."""

import pytest

pytest.importorskip("grpc", reason="the testbed needs grpcio: pip install simfl[testbed]")

from testbed.broken_off import beyond
from testbed.namespaces import SEND_BYTES
from tests.testbed.marks import needs_namespaces


@pytest.mark.slow
@needs_namespaces
def test_an_upload_that_is_called_off_goes_on_by_what_has_been_written_of_it() -> None:
    left, sent = beyond(2.4)
    assert 1.5 * SEND_BYTES < sent < left
