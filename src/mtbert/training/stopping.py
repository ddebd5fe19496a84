"""SIGTERM and Ctrl-C: recorded at once, and obeyed where nothing is half done."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopped(SystemExit):
    """Ends a training that was asked to stop, with the shell's status: 143 for SIGTERM, 130 for Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


class Stop:
    """Records signals.

    Attributes:
        asked: the first signal that came, else None. Further signals change nothing.
    """

    def __init__(self) -> None:
        self.asked: int | None = None
        self._at_once = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Record signals in a block, and do not obey them; print how a stopped training goes on."""
        before = {number: signal.signal(number, self._note) for number in SIGNALS}
        try:
            yield
        except Stopped:
            print("\nstopped; the same command goes on from here", file=sys.stderr)
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Raise Stopped at once for a signal, also for one that came before; for blocks that lose nothing then."""
        self._at_once = True
        try:
            if self.asked is not None:
                raise Stopped(self.asked)
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked is None:
            self.asked = number
            if self._at_once:
                raise Stopped(number)
