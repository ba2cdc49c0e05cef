"""Compiled code is prepared by the first race after an installation: for some seconds nothing else would be seen."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TEXT = "preparing compiled code, once after an installation or an upgrade: this takes some seconds"
KERNELS = logging.getLogger("bestarm.kernels")


class _Said(logging.Handler):
    """Says it when the first kernel is compiled, and not again."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say: Callable[[str], None] | None = say

    def emit(self, record: logging.LogRecord) -> None:
        say, self._say = self._say, None
        if say is not None:
            say(TEXT)


@contextmanager
def preparation_said(say: Callable[[str], None] | None) -> Iterator[None]:
    """Say once if something is compiled and kept; not at all with None, or where somebody further out says it."""
    if say is None or any(isinstance(handler, _Said) for handler in KERNELS.handlers):
        yield
        return
    handler, before = _Said(say), (KERNELS.level, KERNELS.propagate)
    KERNELS.setLevel(logging.INFO)
    KERNELS.propagate = False  # the user's own log is about other things
    KERNELS.addHandler(handler)
    try:
        yield
    finally:
        KERNELS.removeHandler(handler)
        KERNELS.level, KERNELS.propagate = before
