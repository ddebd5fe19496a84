"""What becomes of a request that fails outside of the model."""

import asyncio
import json

from starlette.types import Message, Receive, Scope, Send

from mtbert.serving.app import RequestMonitor
from mtbert.serving.metrics import Metrics


def test_a_request_that_the_end_of_the_server_cuts_short_may_be_sent_again() -> None:
    async def cancelled(_: Scope, __: Receive, ___: Send) -> None:
        raise asyncio.CancelledError

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    monitor = RequestMonitor(cancelled, Metrics(), frozenset({"/predict"}))
    asyncio.run(monitor({"type": "http", "path": "/predict", "headers": []}, receive, send))
    assert (sent[0]["status"], dict(sent[0]["headers"])[b"retry-after"]) == (503, b"1")
    fault = {"row": None, "fault": "the server ended before the rows were computed", "remedy": "send the request again"}
    assert json.loads(sent[1]["body"]) == {"faults": [fault], "more": 0}
