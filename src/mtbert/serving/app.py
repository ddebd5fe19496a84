"""The HTTP interface: /predict, /tasks, /health, /ready, /metrics, and OpenAPI at /docs."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import numpy as np
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mtbert.serving import graphs, logs, requests
from mtbert.serving.batching import Key, Outputs, Queue, QueueFullError
from mtbert.serving.description import Form
from mtbert.serving.graphs import EncodedRow, Graphs
from mtbert.serving.metrics import Metrics
from mtbert.serving.options import Options
from mtbert.serving.requests import AskedRows, Fault, Refusal, RequestError

ABOUT = (
    "Answers of one trained model: classes or labels with their probabilities, or scores, of texts and pairs of texts."
)
SECONDS_TO_SEND = 30.0  # that a client has for a request's body
SMALL = 2**14  # bytes of a body
# Bytes of a body that is too large, up to which it is read and dropped: many clients read no answer before they have
# sent all of it.
MOST_DROPPED = 2**26
AGAIN = "1"  # seconds after which a client that found the queue full may try again
CLIENT_GONE = 499  # in logs and metrics: who asked has left, and nobody was answered


Result = TypeVar("Result")


class ClassAnswer(BaseModel):
    """The answer of a task with classes: the label as the data has it, its name, the probability of each label."""

    label: str
    name: str
    probabilities: dict[str, float]


class ScoreAnswer(BaseModel):
    """The answer of a task with scores, and the range of the scores."""

    score: float
    lowest: float
    highest: float


class LabelsAnswer(BaseModel):
    """The answer of a task with several labels a row: those it has, their names, the probability of each label."""

    labels: list[str]
    names: list[str]
    probabilities: dict[str, float]


class RowAnswer(BaseModel):
    """The answers to a row by task; `cut`: a task's model did not read the row's end, since the row was too long."""

    answers: dict[str, ClassAnswer | LabelsAnswer | ScoreAnswer]
    cut: bool


class Answers(BaseModel):
    """The answers to all rows, in their order."""

    model: str
    seed: int
    rows: list[RowAnswer]


REFUSALS: dict[int | str, dict[str, Any]] = {
    200: {"model": Answers},
    408: {"model": Refusal, "description": "The body did not come in time."},
    413: {"model": Refusal, "description": "The body is too large."},
    422: {"model": Refusal, "description": "The request, or a row of it, cannot be answered."},
    500: {"model": Refusal, "description": "The model failed."},
    503: {
        "model": Refusal,
        "description": "Too many rows wait, or the server ends: send it again after Retry-After seconds.",
    },
}
BODY = {"required": True, "content": {"application/json": {"schema": requests.PredictRequest.model_json_schema()}}}


class _Service(NamedTuple):
    """What answers requests."""

    options: Options
    model: Graphs
    queue: Queue
    metrics: Metrics

    async def answer(self, request: Request) -> Response:
        """Answer a request for predictions."""
        description = self.model.description
        body = await _body(request, self.options.most_bytes)
        rows = await _in_thread_if_large(len(body), requests.read, body, description, self.options.waiting)
        notes = request.scope[NOTES]
        notes |= {"rows": len(rows.texts), "tasks": [*rows.tasks]}
        encoded = await _in_thread_if_large(len(body), _encoded, self.model, rows)
        outputs = await _unless_gone(request, self.queue.outputs(encoded))
        is_cut = [any(row.is_cut for row in of_row) for of_row in zip(*encoded.values(), strict=True)]
        notes["cut"] = sum(is_cut)
        self.metrics.rows.inc(len(is_cut))
        self.metrics.cut.inc(sum(is_cut))
        answers = _answers(rows, outputs)
        row_answers = [{"answers": of_row, "cut": cut} for of_row, cut in zip(answers, is_cut, strict=True)]
        return JSONResponse({"model": description.variant, "seed": description.seed, "rows": row_answers})


def create(options: Options, handler: logs.JsonHandler) -> FastAPI:
    """Load the folder's graphs, and return the application that answers with them; `handler` writes its logs.

    Raises:
        MtbertError: the folder cannot be served.
    """
    model, metrics = Graphs(options.folder, options.threads), Metrics()
    description = model.description
    queue = Queue(model, options, metrics)
    service = _Service(options, model, queue, metrics)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        queue.start()
        logs.event("ready", model=description.variant, seed=description.seed, tasks=[*description.tasks])
        yield
        await queue.stop()
        logs.event("stopped")

    app = FastAPI(title=f"mtbert: {description.variant}, seed {description.seed}", description=ABOUT, lifespan=lifespan)

    @app.post("/predict", responses=REFUSALS, openapi_extra={"requestBody": BODY})
    async def predict(request: Request) -> Response:
        """Answer each row by all tasks that take such rows, or by those that `tasks` names."""
        return await service.answer(request)

    @app.get("/tasks")
    def tasks() -> dict[str, Any]:
        """Describe the model: its tasks, their labels and ranges, and how many tokens it reads."""
        return description.model_dump()

    _add_operation(app, service, handler)
    _add_refusals(app)
    app.add_middleware(
        RequestMonitor, metrics=metrics, paths=frozenset(route.path for route in app.routes if isinstance(route, Route))
    )
    return app


def _add_operation(app: FastAPI, service: _Service, handler: logs.JsonHandler) -> None:
    """Add what those who run the server ask."""

    @app.get("/health")
    async def health() -> dict[str, str]:
        """Say that the process lives."""
        return {"status": "ok"}

    @app.get("/ready", responses={503: {"description": "Rows are not computed."}})
    async def ready(response: Response) -> dict[str, bool]:
        """Say whether rows are computed."""
        response.status_code = 200 if service.queue.works else 503
        return {"ready": service.queue.works}

    @app.get("/metrics")
    def numbers() -> Response:
        """Show the numbers that Prometheus reads."""
        service.metrics.lost_lines.set(handler.lost)
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _add_refusals(app: FastAPI) -> None:
    """Add the answers to requests that are refused."""

    @app.exception_handler(RequestError)
    async def refuse(_: Request, error: RequestError) -> Response:
        is_read = error.status not in (408, 413)
        return _refusal(error.status, error.refusal, {} if is_read else {"Connection": "close"})

    @app.exception_handler(QueueFullError)
    async def refuse_for_now(_: Request, error: QueueFullError) -> Response:
        fault = Fault(fault=str(error), remedy=f"send the request again after {AGAIN} second")
        return _refusal(503, Refusal(faults=[fault]), {"Retry-After": AGAIN})


async def _body(request: Request, most: int) -> bytes:
    """Return a request's body; RequestError where it is too large, or comes too slowly."""
    body, size = bytearray(), 0
    remedy = "split the request"
    too_large = RequestError([Fault(fault=f"the body has more than {most:,} bytes", remedy=remedy)], 413)
    length = int(request.headers.get("content-length", 0))
    if length > MOST_DROPPED or (length > most and _asks_first(request)):
        raise too_large
    try:
        async with asyncio.timeout(SECONDS_TO_SEND):
            async for part in request.stream():
                size += len(part)
                if size <= most:
                    body += part
                elif size > MOST_DROPPED:
                    raise too_large
    except TimeoutError:
        fault = f"the body did not come within {SECONDS_TO_SEND:g} seconds"
        raise RequestError([Fault(fault=fault, remedy="send it again, in one go")], 408) from None
    if size > most:
        raise too_large
    return bytes(body)


def _asks_first(request: Request) -> bool:
    """Return whether a client waits for a word before it sends the body."""
    return request.headers.get("expect", "").lower() == "100-continue"


async def _in_thread_if_large(size: int, function: Callable[..., Result], *arguments: Any) -> Result:
    """Return what a function computes of a body of that size; a large one keeps no other request waiting."""
    if size <= SMALL:
        return function(*arguments)  # sooner than another thread would begin
    return await asyncio.to_thread(function, *arguments)


def _encoded(model: Graphs, rows: AskedRows) -> dict[Key, Sequence[EncodedRow]]:
    """Return the rows as each graph reads them that answers a task."""
    tasks_of: dict[str, list[str]] = {}
    for name, task in rows.tasks.items():
        tasks_of.setdefault(task.graph, []).append(name)
    keys: dict[Key, Form] = {Key(graph, tuple(names)): rows.tasks[names[0]].form for graph, names in tasks_of.items()}
    by_form = {form: model.encode(form, rows.texts) for form in dict.fromkeys(keys.values())}
    return {key: by_form[form] for key, form in keys.items()}


def _answers(rows: AskedRows, outputs: dict[Key, Outputs]) -> list[dict[str, Any]]:
    """Return the answers to each row by task, in the order of the tasks."""
    arrays: dict[str, np.ndarray] = {}
    for of_graph in outputs.values():
        arrays |= of_graph
    by_task = {name: graphs.answers(task, arrays[name]) for name, task in rows.tasks.items()}
    return [dict(zip(by_task, of_row, strict=True)) for of_row in zip(*by_task.values(), strict=True)]


async def _unless_gone(request: Request, computing: Any) -> Any:
    """Return what is computed; if the client goes first, cancel it, and raise _ClientGoneError."""
    answer, gone = asyncio.ensure_future(computing), asyncio.ensure_future(_gone(request.receive))
    try:
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise _ClientGoneError
        return answer.result()
    finally:
        for task in (answer, gone):
            task.cancel()
        with suppress(Exception, asyncio.CancelledError):
            await answer


class _ClientGoneError(Exception):
    """Who asked has closed the connection."""


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _refusal(status: int, refusal: Refusal, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse(refusal.model_dump(), status, headers)


NOTES = "mtbert.notes"  # in a request's scope: what its line in the log says of it


class RequestMonitor:
    """Counts and logs each request, and answers 500 where one fails."""

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: frozenset[str]) -> None:
        self._app, self._metrics, self._paths = app, metrics, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, failure, refusal = time.monotonic(), 0, None, None
        notes = scope[NOTES] = {}

        async def observe(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, observe)
        except _ClientGoneError:
            status = CLIENT_GONE
        except asyncio.CancelledError:  # by uvicorn, where a request takes longer than the server waits for its end
            fault = Fault(fault="the server ended before the rows were computed", remedy="send the request again")
            refusal = _refusal(503, Refusal(faults=[fault]), {"Retry-After": AGAIN})
        except Exception as error:  # of onnxruntime, or a fault of ours
            failure = error
            fault = Fault(fault="the model failed", remedy="the server's log says where")
            refusal = _refusal(500, Refusal(faults=[fault]))
        if refusal and not status:
            await refusal(scope, receive, observe)
        path = scope["path"] if scope["path"] in self._paths else "other"
        seconds = time.monotonic() - started
        self._metrics.requests.labels(path, str(status)).inc()
        self._metrics.seconds.labels(path).observe(seconds)
        level = logging.INFO if failure is None else logging.ERROR
        logs.event("request", level, error=failure, path=path, status=status, ms=round(1000 * seconds, 2), **notes)
