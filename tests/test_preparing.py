"""The first race after an installation says that it compiles, once, to whoever looks."""

import io
import logging
import sys

import pytest

from bestarm.cli.preparing import TEXT, preparation_said

KERNELS = logging.getLogger("bestarm.kernels")


class Terminal(io.StringIO):
    """A standard error that somebody looks at."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def said_on(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, quiet: bool = False, kernels: int = 2) -> str:
    """What is said while so many kernels are compiled, and nothing is left of it afterwards."""
    monkeypatch.setattr(sys, "stderr", stream)
    before = KERNELS.level, KERNELS.propagate, list(KERNELS.handlers)
    with preparation_said(quiet):
        for _ in range(kernels):
            KERNELS.info("compiling something")
    assert (KERNELS.level, KERNELS.propagate, list(KERNELS.handlers)) == before
    return stream.getvalue()


def test_it_is_said_once_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said_on(Terminal(), monkeypatch).strip() == TEXT


def test_it_is_not_said_if_nothing_is_compiled_nobody_looks_or_nothing_should_be_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert said_on(Terminal(), monkeypatch, kernels=0) == ""
    assert said_on(Terminal(), monkeypatch, quiet=True) == ""
    assert said_on(io.StringIO(), monkeypatch) == ""
