"""Logs as lines of JSON on standard error. No line holds a text of a request, or a message that could quote one."""

import json
import logging
import os
import traceback
from datetime import UTC, datetime

EVENT = "mtbert.serving"
STANDARD_ERROR = 2
log = logging.getLogger(EVENT)


class JsonHandler(logging.Handler):
    """Writes each record as a line.

    Attributes:
        lost: lines that could not be written, as on a full disk. The server goes on without them.
    """

    lost = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            os.write(STANDARD_ERROR, (json.dumps(_fields(record), ensure_ascii=False) + "\n").encode())
        except OSError:
            self.lost += 1  # /metrics has the number


def _fields(record: logging.LogRecord) -> dict[str, object]:
    """Return what a line holds; of an error its type and places in the code, but not its message."""
    when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
    fields: dict[str, object] = {"time": when, "level": record.levelname.lower(), "pid": record.process}
    fields["event"] = record.getMessage()
    fields |= getattr(record, "fields", {})
    if record.exc_info and record.exc_info[1] is not None:
        fields["error"] = type(record.exc_info[1]).__name__
        frames = traceback.extract_tb(record.exc_info[2])
        fields["at"] = [f"{os.path.basename(frame.filename)}:{frame.lineno} {frame.name}" for frame in frames]
    return fields


def event(name: str, level: int = logging.INFO, *, error: BaseException | None = None, **fields: object) -> None:
    """Log an event with its fields."""
    log.log(level, name, exc_info=error, extra={"fields": fields})


def start() -> JsonHandler:
    """Send the logs of the server, and the warnings of all libraries, to standard error; return who writes them."""
    handler = JsonHandler()
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    log.setLevel(logging.INFO)
    return handler
