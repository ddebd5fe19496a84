"""How a process that imports large libraries starts and ends without delay."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def imports() -> Iterator[None]:
    """Import with the garbage collector at rest, and keep it from what was imported ever after.

    Modules live as long as the process. Going through torch's and transformers' hundreds of thousands of objects again
    and again takes a sixth of the time that importing them takes, and a second or two at the end of the process.
    """
    gc.disable()
    try:
        yield
        gc.freeze()
    finally:
        gc.enable()
