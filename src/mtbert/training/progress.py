"""Show a training's progress: a line that is overwritten on a terminal, and a new line every 30 seconds in a log."""

import sys
from typing import Any, TextIO

from tqdm import tqdm

EVERY = 30.0  # seconds between two lines of a log
LINE = "{n_fmt} of {total_fmt} steps, {elapsed} gone, {remaining} left{postfix}"


class Lines:
    """A stream that writes each state of a progress bar on a line of its own, without carriage returns and padding."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> None:
        """Write text that is not blank."""
        if line := text.strip():
            print(line, file=self.stream, flush=True)

    def flush(self) -> None:
        """Do nothing: `write` flushes."""


def bar(total: int, initial: int = 0, silent: bool = False, stream: TextIO | None = None) -> tqdm:
    """Return a progress bar of `total` steps, of which `initial` are done, on `stream` (standard error)."""
    shown = sys.stderr if stream is None else stream
    log: dict[str, Any] = {"file": Lines(shown), "mininterval": EVERY, "maxinterval": EVERY, "bar_format": LINE}
    form = {"file": shown, "mininterval": 1.0, "dynamic_ncols": True} if shown.isatty() else log
    return tqdm(total=total, initial=initial, unit="step", disable=silent, **form)
