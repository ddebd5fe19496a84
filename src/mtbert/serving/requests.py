"""What a request may hold, and what is said of one that holds something else: the row, its fault, and the remedy."""

import json
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from mtbert.data import readers
from mtbert.data.records import object_of_pairs
from mtbert.errors import UnknownNameError
from mtbert.serving.description import Description, ServedTask

LONGEST_TEXT = 100_000  # characters
LONGEST_NAME = 50  # characters of an unknown name in an answer
UNREADABLE = "unreadable"  # what pydantic calls the fault of a text
SHOWN = 10  # most faults in an answer
NAMES = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", dict: "an object", list: "a list"}


def _texts(value: Any) -> Any:
    """Return one text as a list."""
    return [value] if isinstance(value, str) else value


def _pairs(value: Any) -> Any:
    """Return one pair of texts as a list."""
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(text, str) for text in value)
    return [value] if is_pair else value


def _readable(text: str) -> str:
    """Return a text that a model can read."""
    remedy = "leave the row out, or send a text with a visible character"
    fault = readers.fault_of_text("", text)
    if "\0" in text:
        fault, remedy = "holds the character NUL", "remove it"
    elif len(text) > LONGEST_TEXT:
        fault = f"has {len(text):,} characters; allowed: {LONGEST_TEXT:,}"
        remedy = "shorten it: the model reads its beginning alone"
    if fault:
        raise PydanticCustomError(UNREADABLE, "cannot be read", {"fault": fault.strip(), "remedy": remedy})
    return text


_Text = Annotated[str, AfterValidator(_readable)]
_Pair = Annotated[list[_Text], Field(min_length=2, max_length=2)]


class PredictRequest(BaseModel):
    """Rows for all tasks that take such rows, or for some of them."""

    model_config = ConfigDict(extra="forbid", strict=True)
    texts: Annotated[
        list[_Text] | None,
        BeforeValidator(_texts, json_schema_input_type=str | list[str]),
        Field(description="One text, or several: a row each.", examples=[["a text", "another"]]),
    ] = None
    pairs: Annotated[
        list[_Pair] | None,
        BeforeValidator(_pairs, json_schema_input_type=_Pair | list[_Pair]),
        Field(description="One pair of texts, or several: a row each.", examples=[None]),
    ] = None
    tasks: Annotated[
        list[str] | None, Field(description="The tasks that answer; without it all that take such rows.")
    ] = None


class Fault(BaseModel):
    """What is wrong with a request: row counts from 1, and is null if the fault is not of one row."""

    row: int | None = None
    fault: str
    remedy: str


class Refusal(BaseModel):
    """What a refused request is answered: its first faults, and how many more there are."""

    faults: list[Fault]
    more: int = 0


class RequestError(Exception):
    """A request that cannot be answered as it is.

    Attributes:
        refusal: what is answered.
        status: that of HTTP.
    """

    def __init__(self, faults: Sequence[Fault], status: int = 422) -> None:
        super().__init__(f"{len(faults)} faults")
        self.refusal = Refusal(faults=[*faults[:SHOWN]], more=max(0, len(faults) - SHOWN))
        self.status = status


class AskedRows(NamedTuple):
    """The rows of a request, of one or two texts each, and the tasks that are to answer."""

    texts: list[list[str]]
    tasks: dict[str, ServedTask]


def read(body: bytes, description: Description, most: int) -> AskedRows:
    """Return the rows and tasks of a request; RequestError with its faults.

    At most so many rows may be computed, by all graphs together.
    """
    try:
        request = PredictRequest.model_validate_json(body)
    except ValidationError as error:
        raise RequestError([_fault(detail) for detail in error.errors(include_url=False)]) from None
    try:
        json.loads(body, object_pairs_hook=object_of_pairs)  # pydantic takes the last of two values
    except ValueError as error:
        raise RequestError([Fault(fault=f"in the request {error}", remedy="send each key once")]) from None
    if (request.texts is None) == (request.pairs is None):
        count = "neither" if request.texts is None else "both"
        remedy = 'send {"texts": ["..."]} or {"pairs": [["...", "..."]]}'
        raise RequestError([Fault(fault=f"the request has {count} of texts and pairs", remedy=remedy)])
    rows = request.pairs if request.pairs is not None else [[text] for text in request.texts or ()]
    tasks = _tasks(request.tasks, request.pairs is not None, description)
    most //= len({task.graph for task in tasks.values()})  # each computes all rows
    if not 1 <= len(rows) <= most:
        remedy = "send at least one row" if not rows else "split the request, or name fewer tasks"
        raise RequestError([Fault(fault=f"the request has {len(rows)} rows; allowed: 1 to {most}", remedy=remedy)])
    return AskedRows(rows, tasks)


def _tasks(names: list[str] | None, is_pairs: bool, description: Description) -> dict[str, ServedTask]:
    """Return the named tasks, or all that take such rows."""
    taking = {name: task for name, task in description.tasks.items() if task.is_pair == is_pairs}
    if names is None and taking:
        return taking
    form, other = ("pairs", "texts") if is_pairs else ("texts", "pairs")
    if not names:
        fault = f"no task takes {form}" if names is None else "tasks is empty"
        raise RequestError([Fault(fault=fault, remedy=_takes(description))])
    faults: list[Fault] = []
    for name in dict.fromkeys(names):
        if name not in description.tasks:
            unknown = UnknownNameError("task", name[:LONGEST_NAME], description.tasks)
            faults.append(Fault(fault=str(unknown), remedy="correct `tasks`"))
        elif name not in taking:
            faults.append(Fault(fault=f"{name} takes {other}, and the request has {form}", remedy=f"send `{other}`"))
    if faults:
        raise RequestError(faults)
    return {name: taking[name] for name in dict.fromkeys(names)}


def _takes(description: Description) -> str:
    """Return what each task takes."""
    return ", ".join(f"{name} takes {'pairs' if task.is_pair else 'texts'}" for name, task in description.tasks.items())


def _name_of_text(place: int | None) -> str:
    """Return what a row's text is called; of a pair the first has the place 0."""
    return {None: "the text", 0: "the first text", 1: "the second text"}.get(place, "a text")


def _fault(detail: ErrorDetails) -> Fault:
    """Return what pydantic found as a fault, without the value that came, but for its kind."""
    key, *places = detail["loc"] or ("",)
    kind = NAMES.get(type(detail["input"]), "a text")
    if detail["type"] == "json_invalid":
        reason = detail.get("ctx", {}).get("error", detail["msg"])
        return Fault(fault=f"the body is not JSON in UTF-8: {reason}", remedy="send a JSON object")
    if detail["type"] == "extra_forbidden":
        unknown = UnknownNameError("key", str(key)[:LONGEST_NAME], PredictRequest.model_fields)
        return Fault(fault=str(unknown), remedy="rename the key, or leave it out")
    if not key:
        return Fault(fault=f"the request is {kind}", remedy='send an object, such as {"texts": ["..."]}')
    if not places:
        return Fault(fault=f"{key} is {kind}", remedy=f"send a list as `{key}`")
    row, *text = (place for place in places if isinstance(place, int))
    if key == "tasks":
        return Fault(fault=f"task {row + 1} is {kind}", remedy="name each task by its name, a text")
    return _fault_of_row(detail, row + 1, kind, text[0] if text else None)


def _fault_of_row(detail: ErrorDetails, row: int, kind: str, place: int | None) -> Fault:
    """Return what pydantic found in a row, or in the text with that place in a pair."""
    if detail["type"] == UNREADABLE:
        context = detail.get("ctx", {})
        return Fault(row=row, fault=f"{_name_of_text(place)} {context['fault']}", remedy=context["remedy"])
    if detail["type"] in ("too_short", "too_long"):
        return Fault(row=row, fault=f"the pair has {len(detail['input'])} texts", remedy="send two texts")
    if detail["type"] == "list_type":
        return Fault(row=row, fault=f"the pair is {kind}", remedy='send a list of two texts: ["...", "..."]')
    remedy = "leave the row out, or send a text" if kind == "null" else "send a text"
    return Fault(row=row, fault=f"{_name_of_text(place)} is {kind}", remedy=remedy)
