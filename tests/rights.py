"""Tests as a user whom permissions bind."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, whom no permission binds."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
