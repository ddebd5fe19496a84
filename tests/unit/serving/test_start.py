"""The port of the server."""

import socket

import pytest

from mtbert.serving import start
from mtbert.serving.description import ServingError


def test_answers_do_not_wait_until_the_client_has_acknowledged_their_beginning() -> None:
    with start.listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # by which asyncio knows to set TCP_NODELAY
        assert listening.getsockname()[0] == "127.0.0.1"


def test_a_taken_port_and_a_foreign_address_are_refused() -> None:
    with start.listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(ServingError, match=rf"^port {port} is taken by another program; --port {port + 1} takes"):
            start.listen("127.0.0.1", port)
    with pytest.raises(ServingError, match=r"^--host 192\.0\.2\.1 --port 0: .*; allowed: an address of this machine$"):
        start.listen("192.0.2.1", 0)
