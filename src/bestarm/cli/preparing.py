"""Compiled code is prepared by the first race after an installation: for some seconds nothing else would be seen."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from bestarm.cli.streams import remark, remarks

TEXT = "preparing compiled code, once after an installation or an upgrade: this takes some seconds"


class _Said(logging.Handler):
    """Says it when the first kernel is compiled, and not again."""

    said = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self.said:
            self.said = True
            remark(TEXT)


@contextmanager
def preparation_said(quiet: bool) -> Iterator[None]:
    """Say once if something is compiled and kept, where somebody looks."""
    kernels, handler = logging.getLogger("bestarm.kernels"), _Said()
    if quiet or not remarks().is_terminal:
        yield
        return
    before = kernels.level, kernels.propagate
    kernels.setLevel(logging.INFO)
    kernels.propagate = False  # the user's own log is about other things
    kernels.addHandler(handler)
    try:
        yield
    finally:
        kernels.removeHandler(handler)
        kernels.level, kernels.propagate = before
