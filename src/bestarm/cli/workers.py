"""The worker processes of `bestarm run --workers`: they end with the race, and so does all that they started."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from types import FrameType
from typing import Any

LOOK = 0.5  # seconds between two looks at whether the parent is still there


class Workers(Executor):
    """A pool whose processes are killed, with all they started, unless the race came to its end by itself."""

    def __init__(self, n_workers: int) -> None:
        self._others = set(multiprocessing.active_children())
        self._pool = ProcessPoolExecutor(n_workers, initializer=_begin)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call. A pool whose processes are killed stumbles over its own futures if they were cancelled."""
        outer: Future[Any] = Future()
        self._pool.submit(fn, *args, **kwargs).add_done_callback(lambda inner: _pass_on(inner, outer))
        return outer

    def kill(self) -> None:
        """End all processes now."""
        for process in set(multiprocessing.active_children()) - self._others:
            _kill_group(process.pid)
            process.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the evaluations that run come to their end, and no others begin."""
        self._pool.shutdown(wait, cancel_futures=True)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.shutdown()
        finally:
            self.kill()
            self.shutdown()


def _pass_on(inner: Future[Any], outer: Future[Any]) -> None:
    """Give the outcome of a future to another one, unless that was cancelled."""
    if inner.cancelled():
        outer.cancel()
    if not outer.set_running_or_notify_cancel():
        return
    error = inner.exception()
    if error is not None:
        outer.set_exception(error)
    else:
        outer.set_result(inner.result())


def _kill_group(number: int | None) -> None:
    """Kill a worker that leads a group, and with it the programs that the user's function has started."""
    if number is None or not hasattr(os, "killpg"):
        return
    with suppress(ProcessLookupError, PermissionError):  # it has ended, or does not lead a group yet
        os.killpg(number, signal.SIGKILL)


def _begin() -> None:
    """What a worker does first: it leaves Ctrl-C to its parent, and does not outlive it."""
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # the Ctrl-C of a terminal is for the parent, which decides what is kept
    signal.signal(signal.SIGINT, _nothing)  # not SIG_IGN: programs that the function starts would inherit that
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)  # a fork has the handlers of its parent
    threading.Thread(target=_follow, args=(os.getppid(),), name="bestarm-parent", daemon=True).start()


def _nothing(number: int, frame: FrameType | None) -> None:
    """Let a signal pass."""


def _follow(parent: int) -> None:
    """End this worker, with all it started, when the process that it works for is gone."""
    master = multiprocessing.parent_process()
    while os.getppid() == parent and master is not None and master.is_alive():
        master.join(LOOK)
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
