"""Executors that are broken: futures that never end, cannot be cancelled, come twice or with something else in them."""

import os
import random
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import bestarm
from attacks.judging import REFUSALS, Fault, judge
from attacks.pool import Case
from attacks.stores import share
from killing import outcome

Note = Callable[[str], None]
PATIENCE = 30.0
CHUNK = 10
ARMS = ["low", "mid", "high"]
HARMLESS = ("inline", "unwilling", "late")
KINDS = (*HARMLESS, "submit raises", "submit breaks", "broken", "cancelled", "own exception", "wrong result", "no future", "never")  # fmt: skip
# What an executor itself raises is passed on.
ALLOWED: dict[str, type[BaseException]] = {"submit raises": RuntimeError, "no future": AttributeError}
RAISED = {
    "submit raises": RuntimeError("cannot schedule new futures after shutdown"),
    "submit breaks": BrokenProcessPool("a child process terminated abruptly"),
}


class Unwilling(Future[Any]):
    """A future whose cancel() fails, as that of some libraries does."""

    def cancel(self) -> bool:
        raise NotImplementedError("cancel is not supported")


class Strange(Executor):
    """Runs a call when it is submitted, and from some call on does what its kind says."""

    def __init__(self, kind: str, after: int, luck: random.Random) -> None:
        self.kind, self.after, self.luck = kind, after, luck
        self.calls = 0
        unwilling = kind == "unwilling" or (kind == "late" and luck.random() < 0.5)
        self.future: Callable[[], Future[Any]] = Unwilling if unwilling else Future

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future, kind = self.future(), self.kind
        if kind == "late":  # completed in any order, from other threads
            threading.Timer(0.002 * self.luck.random(), completed, (future, fn(*args))).start()
            return future
        if self.calls <= self.after or kind in HARMLESS:
            future.set_result(fn(*args, **kwargs))
            return future
        if kind in RAISED:
            raise RAISED[kind]
        if kind == "no future":
            strange: Any = self.luck.choice((None, 5, "x"))
            return strange  # type: ignore[no-any-return]
        if kind == "broken":
            future.set_exception(BrokenExecutor("the pool is gone"))
        elif kind == "cancelled":
            future.cancel()
            future.set_running_or_notify_cancel()
        elif kind == "own exception":
            future.set_exception(self.luck.choice((ValueError("own"), OSError(28, "no space"), MemoryError())))
        elif kind == "wrong result":
            future.set_result(self.luck.choice((None, [], 5, "x", [1.0, 2.0], {}, [None], [float("nan")])))
        elif self.calls == self.after + 1:  # never done, until the user presses Ctrl-C
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        return future


def completed(future: Future[Any], result: Any) -> None:
    """Give a future its result, unless it was cancelled."""
    if future.set_running_or_notify_cancel():
        future.set_result(result)


def prepare(folder: Path) -> Case:
    """Cases of one race each, on an executor that is strange."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    expected = {ahead: outcome(run(None, ahead, None)) for ahead in (1, 2, 4)}

    def case(luck: random.Random, note: Note) -> str:
        kind, after, ahead = luck.choice(KINDS), luck.choice((0, 1, 5, 12)), luck.choice((1, 2, 4))
        on_error = luck.choice(("raise", "worst", "disqualify")) if kind in HARMLESS else "raise"
        store = folder / "race.sqlite" if luck.random() < 0.5 else None
        for file in folder.glob("race.sqlite*"):
            file.unlink()
        note(f"{kind} after {after} calls, {ahead} rounds in flight, {on_error}, {'stored' if store else 'not stored'}")
        try:
            with Strange(kind, after, luck) as executor:
                result = run(executor, ahead, store, on_error)
        except Exception as error:
            if kind in HARMLESS:
                raise Fault(f"{kind}: failed for no reason: {type(error).__name__}: {str(error)[:200]}") from error
            came = judge(error, (*REFUSALS, BrokenExecutor, ALLOWED.get(kind, BrokenExecutor)))
        else:
            came = str(result.reason)
            if result.reason != "interrupted" and outcome(result) != expected[ahead]:
                raise Fault(f"{kind}: a wrong answer, {outcome(result)}")
            if result.reason == "interrupted" and kind != "never":
                raise Fault(f"{kind}: interrupted by nobody")
        if store is not None and store.exists():
            again = run(None, ahead, store, on_error)
            if outcome(again) != expected[ahead]:
                raise Fault(f"{kind}: continued from its store, it ended otherwise, with {outcome(again)}")
        return f"{kind} {came}"

    return case


def run(executor: Executor | None, ahead: int, store: Path | None, on_error: Any = "raise") -> bestarm.RaceResult[Any]:
    """A small race."""
    options: dict[str, Any] = {"items": range(60), "bounds": (0, 1), "on_error": on_error, "rounds_in_flight": ahead}
    return bestarm.race(share, arms=ARMS, executor=executor, store=store, progress=False, **options)
