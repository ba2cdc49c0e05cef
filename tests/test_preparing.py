"""The first race after an installation says that it compiles, once, to whoever looks."""

import io
import logging
import sys
from contextlib import nullcontext
from typing import Any

import pytest

from bestarm.cli.app import clear_errors
from bestarm.result.live import TEXT, display

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
    with clear_errors(quiet):
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


def nothing_yet() -> Any:
    raise AssertionError("nothing has happened that could be shown")


@pytest.mark.parametrize("command", [False, True])
def test_a_race_that_is_shown_says_it_too_unless_its_command_does(
    command: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with clear_errors() if command else nullcontext(), display(nothing_yet, True):
        KERNELS.info("compiling something")
    assert " ".join(stream.getvalue().split()).count(TEXT) == 1
    with display(nothing_yet, False):
        KERNELS.info("compiling something")
    assert stream.getvalue().count("preparing") == 1
