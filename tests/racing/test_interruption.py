"""Ctrl-C and other signals: never a score, a failure or a disqualification, in whatever kind of race."""

import asyncio
import contextlib
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from concurrent.futures import CancelledError as FutureCancelledError
from pathlib import Path
from typing import Any

import pytest

import bestarm
from bestarm.racing.evaluation import Call, Evaluation
from bestarm.record.sqlite import SQLiteStore
from race_files import Memory, RaceFile
from row_races import Inline

ARMS = ["low", "mid", "high"]


def score(arm: str, item: int) -> float:
    return ((item * 37) % 64 + 16 * ARMS.index(arm)) / 128


def run(evaluate: Callable[..., Any], path: Path, **options: Any) -> bestarm.RaceResult[Any]:
    how: dict[str, Any] = {"items": range(200), "bounds": (0, 1), "store": path, "progress": False} | options
    return bestarm.race(evaluate, arms=ARMS, **how)


def as_uninterrupted(path: Path, result: bestarm.RaceResult[Any], **options: Any) -> None:
    """The race was interrupted, only true scores are stored, and continued it ends as if nothing had happened."""
    assert result.reason == "interrupted"
    assert not result.failures
    rows = RaceFile(path).rows("SELECT arm, item, score, failure FROM scores JOIN rounds USING (round)")
    for arm, item, value, failure in rows:
        assert (value, failure) == (score(ARMS[arm], int(item)), None)
    whole = run(score, path.with_name("whole.sqlite"), **options)
    assert str(run(score, path, **options)) == str(whole)


# --- what runs when Ctrl-C comes is dropped ---------------------------------------------------------------------------


def swallows() -> float:
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    return 0.0


def fails() -> float:
    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException as error:
        raise RuntimeError("the solver died") from error
    return 0.0


def loses_its_program() -> float:
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    raise subprocess.CalledProcessError(-2, "solver")


def races() -> float:
    calls = iter(range(100))

    def inner(arm: int, item: int) -> float:
        if next(calls) == 7:
            signal.raise_signal(signal.SIGINT)
        return arm / 4

    try:
        part = bestarm.race(inner, arms=[1, 2, 3], progress=False)
    except KeyboardInterrupt:
        return 0.0  # and still it is no score
    return float(part.reason == "interrupted")


def groups() -> float:
    raise BaseExceptionGroup("tasks", [ValueError("one"), BaseExceptionGroup("more", [KeyboardInterrupt()])])


@pytest.mark.parametrize("on_error", ["raise", "disqualify"])
@pytest.mark.parametrize("how", [{}, {"retries": 2}, {"executor": Inline()}, {"rounds_in_flight": 3}], ids=" ".join)
@pytest.mark.parametrize("comes_out", [swallows, fails, loses_its_program, races, groups])
def test_what_was_evaluated_when_ctrl_c_came_is_dropped(
    comes_out: Callable[[], float], how: dict[str, Any], on_error: Any, tmp_path: Path
) -> None:
    calls = iter(range(1000))
    begun: list[tuple[str, int]] = []

    def evaluate(arm: str, item: int) -> float:
        begun.append((arm, item))
        return comes_out() if next(calls) == 10 else score(arm, item)

    path = tmp_path / "race.sqlite"
    before = signal.getsignal(signal.SIGINT)
    result = run(evaluate, path, on_error=on_error, **how)
    assert signal.getsignal(signal.SIGINT) is before
    if "executor" not in how:
        assert len(begun) == 11
        assert len(RaceFile(path).scores()) == 10
    ahead = 4 if "executor" in how else how.get("rounds_in_flight")
    as_uninterrupted(path, result, on_error=on_error, rounds_in_flight=ahead)


def test_a_joint_and_a_grouped_evaluation_are_dropped_too(tmp_path: Path) -> None:
    def jointly(arms: list[str], item: int) -> list[float]:
        if item == 3:
            return [swallows() for _ in arms]
        return [score(arm, item) for arm in arms]

    path = tmp_path / "race.sqlite"
    result = run(jointly, path, jointly=True, items=iter(range(100)))
    assert (result.reason, result.n_rounds, len(RaceFile(path).scores())) == ("interrupted", 3, 9)
    of_groups = {"items": range(40), "groups": [k // 4 for k in range(40)], "jointly": True}
    assert run(jointly, tmp_path / "groups.sqlite", **of_groups).reason == "interrupted"
    assert all(failure is None for *_, failure in RaceFile(tmp_path / "groups.sqlite").scores())


def test_the_race_around_an_interrupted_one_ends_and_gets_no_result(tmp_path: Path) -> None:
    inner_results = []

    def evaluate(arm: str, item: int) -> float:
        def inner(own: int, seed: int) -> float:
            if item == 4:
                signal.raise_signal(signal.SIGINT)
            return own / 4

        inner_results.append(bestarm.race(inner, arms=[1, 2], progress=False).reason)
        return score(arm, item)

    result = run(evaluate, tmp_path / "race.sqlite", items=iter(range(100)))
    assert (result.reason, result.n_rounds, set(inner_results)) == ("interrupted", 4, {"decided"})


def test_a_race_in_a_thread_that_an_evaluation_has_started_gives_the_race_around_it_no_score(tmp_path: Path) -> None:
    """Such a race does not know that it is inside of another one: it returns what it has, and that is dropped."""
    inner_reasons: list[str] = []
    calls = iter(range(1000))

    def evaluate(arm: str, item: int) -> float:
        begun, asked = threading.Event(), threading.Event()

        def inner(own: int, seed: int) -> float:
            begun.set()
            assert asked.wait(30)
            return own / 4

        thread = threading.Thread(
            target=lambda: inner_reasons.append(bestarm.race(inner, arms=[1, 2], progress=False).reason)
        )
        thread.start()
        assert begun.wait(30)
        with contextlib.suppress(KeyboardInterrupt):
            if next(calls) == 10:
                signal.raise_signal(signal.SIGINT)
        asked.set()
        thread.join()
        return 0.0 if inner_reasons[-1] == "interrupted" else score(arm, item)

    path = tmp_path / "race.sqlite"
    result = run(evaluate, path)
    assert (len(RaceFile(path).scores()), inner_reasons[-1], set(inner_reasons[:-1])) == (
        10,
        "interrupted",
        {"decided"},
    )
    as_uninterrupted(path, result)


def test_what_comes_out_after_ctrl_c_on_an_executor_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow disk: while a round is saved, Ctrl-C ends what the evaluations of the next one have started."""
    held: list[Future[Any]] = []
    save = SQLiteStore.save

    class FromRoundTwoHeld(Inline):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
            if args[0].number == 1:
                return super().submit(fn, *args, **kwargs)
            held.append(Future())
            return held[-1]

    def saved(store: SQLiteStore, *rows: Any) -> None:
        save(store, *rows)
        signal.raise_signal(signal.SIGINT)
        for future in held:
            future.set_result([0.0])

    with monkeypatch.context() as slow:
        slow.setattr(SQLiteStore, "save", saved)
        result = run(score, tmp_path / "race.sqlite", executor=FromRoundTwoHeld(), rounds_in_flight=2)
    assert len(held) == len(ARMS)
    as_uninterrupted(tmp_path / "race.sqlite", result, rounds_in_flight=2)


def test_after_ctrl_c_while_a_failure_is_saved_the_next_arm_is_not_evaluated(tmp_path: Path) -> None:
    class Signalled(Memory):
        def save(self, rounds: Any, scores: Any) -> None:
            super().save(rounds, scores)
            signal.raise_signal(signal.SIGINT)

    begun: list[str] = []

    def evaluate(arm: str, item: int) -> None:
        begun.append(arm)

    result = run(evaluate, tmp_path, store=Signalled(), on_error="worst")
    assert (result.reason, begun) == ("interrupted", ["low"])


def test_ctrl_c_ends_races_in_threads_too() -> None:
    threads: list[str] = []
    begun, asked = threading.Event(), threading.Event()

    def in_thread(arm: int, seed: int) -> float:
        begun.set()
        assert asked.wait(30)
        return 0.5

    thread = threading.Thread(
        target=lambda: threads.append(bestarm.race(in_thread, arms=[1, 2], progress=False).reason)
    )
    thread.start()

    def here(arm: int, seed: int) -> float:
        assert begun.wait(30)
        signal.raise_signal(signal.SIGINT)
        return 0.5

    assert bestarm.race(here, arms=[1, 2], progress=False).reason == "interrupted"
    asked.set()
    thread.join()
    assert threads == ["interrupted"]


# --- items ------------------------------------------------------------------------------------------------------------


def caught_by_the_stream() -> Iterator[int]:
    for item in range(200):
        if item == 6:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return  # as if the items had run out
        yield item


def through_the_stream() -> Iterator[int]:
    for item in range(200):
        if item == 6:
            signal.raise_signal(signal.SIGINT)
        yield item


def raised_by_the_stream() -> Iterator[int]:
    yield from range(6)
    raise KeyboardInterrupt


@pytest.mark.parametrize("how", [{}, {"executor": Inline()}, {"rounds_in_flight": 3}], ids=" ".join)
@pytest.mark.parametrize("items", [caught_by_the_stream, through_the_stream, raised_by_the_stream])
def test_ctrl_c_while_an_item_is_drawn_is_not_the_end_of_the_items(
    items: Callable[[], Iterator[int]], how: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "race.sqlite"
    result = run(score, path, items=items(), **how)
    assert result.reason == "interrupted"
    assert len(RaceFile(path).scores()) == 3 * result.n_rounds
    assert how or result.n_rounds == 6  # nothing was evaluated after Ctrl-C
    assert bestarm.load_result(path).reason == "running"
    ahead = 4 if "executor" in how else how.get("rounds_in_flight")
    whole = run(score, tmp_path / "whole.sqlite", items=iter(range(200)), rounds_in_flight=ahead)
    assert str(run(score, path, items=iter(range(200)))) == str(whole)


def test_a_stream_that_raised_stays_broken_for_ask_and_tell() -> None:
    def items() -> Iterator[int]:
        yield from range(2)
        raise ConnectionError("the server is gone")

    race = bestarm.Race(ARMS, items=items(), bounds=(0, 1), rounds_in_flight=2)
    first, second = race.ask()
    with pytest.raises(ConnectionError, match="the server is gone"):
        race.tell(first, {arm: score(arm, 0) for arm in ARMS})
    with pytest.raises(ConnectionError, match="the server is gone"):
        race.tell(second, {arm: score(arm, 1) for arm in ARMS})
    with pytest.raises(ConnectionError, match="the server is gone"):
        race.ask()
    assert (race.result().n_rounds, race.reason) == (2, None)


def test_a_wish_to_end_is_not_told_as_a_failure() -> None:
    race = bestarm.Race(ARMS, items=range(10), bounds=(0, 1), on_error="disqualify")
    (todo,) = race.ask()
    with pytest.raises(KeyboardInterrupt):
        race.tell(todo, {"low": KeyboardInterrupt()})
    with pytest.raises(SystemExit):
        race.tell(todo, {"low": ExceptionGroup("", [ValueError()]), "mid": BaseExceptionGroup("", [SystemExit(3)])})
    race.tell(todo, {"low": asyncio.CancelledError(), "mid": 0.5, "high": 0.6})
    assert [one.arm for one in race.result().disqualified] == ["low"]


# --- failures that are no Exception, or have no text ------------------------------------------------------------------


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Silent:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[[str, int], float]:
    def evaluate(arm: str, item: int) -> float:
        raise error

    return evaluate


def returning(value: Any) -> Callable[[str, int], Any]:
    return lambda arm, item: value


def coroutine_of(evaluate: Callable[[str, int], Any]) -> Callable[[str, int], Any]:
    async def later(arm: str, item: int) -> Any:
        return evaluate(arm, item)

    return later


FAILURES: list[tuple[Callable[[str, int], Any], str]] = [
    (raising(asyncio.CancelledError()), "failed: CancelledError: "),
    (raising(FutureCancelledError()), "failed: CancelledError: "),
    (raising(GeneratorExit()), "failed: GeneratorExit: "),
    (raising(BaseExceptionGroup("two", [GeneratorExit()])), "failed: BaseExceptionGroup: two (1 sub-exception)"),
    (raising(SilentError()), "failed: SilentError: <SilentError without a text: RuntimeError>"),
    (returning(Silent()), "returned <Silent without a text: RuntimeError>, which is not a number"),
    (returning(10**5000), "returned a number too large for a float: a score must be a finite number"),
    (returning([10**5000]), "returned <list without a text: ValueError>, which is not a number"),
]


@pytest.mark.parametrize("way", ["in turn", "executor", "async", "retries"])
@pytest.mark.parametrize(("evaluate", "text"), FAILURES, ids=[text for _, text in FAILURES])
def test_failures_of_every_kind_are_left_to_on_error(evaluate: Any, text: str, way: str) -> None:
    how: dict[str, Any] = {"executor": Inline()} if way == "executor" else {"retries": int(way == "retries")}
    function = coroutine_of(evaluate) if way == "async" else evaluate
    options: dict[str, Any] = {"arms": ARMS, "items": iter(range(2)), "bounds": (0, 1), "progress": False} | how
    with pytest.warns(bestarm.AssumptionWarning, match="every evaluation of the first round failed"):
        result = bestarm.race(function, on_error="worst", **options)
    assert (result.reason, [one.worst for one in result.failures]) == ("ran out of items", [2, 2, 2])
    assert f"evaluate('low', 0) {text}" in result.record.failures[1][0]
    with pytest.raises(bestarm.EvaluationError, match=r"^evaluate\('low', 0\)"):
        bestarm.race(function, **options | {"items": iter(range(2))})


def test_a_coroutine_that_raises_generator_exit_is_called_once_for_each_arm_and_item() -> None:
    """It is not the end of the loop, after which a call would be given to the executor once more."""
    calls = Counter[tuple[str, int]]()

    async def evaluate(arm: str, item: int) -> float:
        calls[arm, item] += 1
        if arm == "mid":
            raise GeneratorExit
        return score(arm, item)

    options: dict[str, Any] = {"arms": ARMS, "items": iter(range(4)), "bounds": (0, 1), "progress": False}
    result = bestarm.race(evaluate, on_error="worst", **options)
    assert set(calls.values()) == {1}
    assert [(one.arm, one.worst) for one in result.failures] == [("mid", int(result.counts[1]))]


def test_a_coroutine_whose_loop_is_gone_is_closed_quietly() -> None:
    """Also where another loop runs, as in a notebook."""
    evaluation = Evaluation(lambda arm, item: asyncio.sleep(60), retries=3)

    async def begun() -> Any:
        coroutine = evaluation.on_loop(Call(1, (0,), ("low",), ("low",), 0))
        task = asyncio.create_task(coroutine)
        await asyncio.sleep(0)
        return task, coroutine

    async def closes(coroutine: Any) -> None:
        coroutine.close()

    for close in (lambda coroutine: coroutine.close(), lambda coroutine: asyncio.run(closes(coroutine))):
        loop = asyncio.new_event_loop()
        task, coroutine = loop.run_until_complete(begun())
        loop.close()
        close(coroutine)
        assert coroutine.cr_frame is None
        assert not task.done()


def test_a_task_that_was_cancelled_in_a_coroutine_is_a_failure() -> None:
    async def evaluate(arm: str, item: int) -> float:
        task = asyncio.create_task(asyncio.sleep(60))
        await asyncio.sleep(0)
        task.cancel()
        await task
        return 0.5

    with pytest.raises(bestarm.EvaluationError, match=r"^evaluate\('low', 0\) failed: CancelledError: \(see"):
        bestarm.race(evaluate, arms=ARMS, items=iter(range(9)), rounds_in_flight=1, progress=False)


def test_arms_without_a_text_and_joint_scores_without_one_are_refused() -> None:
    class Nameless:
        __str__ = Silent.__repr__

    with pytest.raises(
        ValueError, match=r"^arm 1 has no name: Nameless.__str__ raises RuntimeError; give arms as a map"
    ):
        bestarm.race(score, arms=["low", Nameless()])
    with pytest.raises(
        bestarm.EvaluationError, match=r"^evaluate\('arms', 0\) must return 3 scores.*got <list without"
    ):
        bestarm.race(lambda arms, item: [Silent()], arms=ARMS, items=iter(range(2)), jointly=True)


# --- executors that are of little help --------------------------------------------------------------------------------


class Stubborn(ThreadPoolExecutor):
    """Its futures cannot be cancelled, as those of Parsl."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future = super().submit(fn, *args, **kwargs)
        future.cancel = self.refuse  # type: ignore[method-assign]
        return future

    @staticmethod
    def refuse() -> bool:
        raise NotImplementedError("cancellation is not supported")


def test_futures_that_cannot_be_cancelled_do_not_lose_a_finished_race(tmp_path: Path) -> None:
    with Stubborn(2) as pool:
        result = run(score, tmp_path / "race.sqlite", executor=pool)
    assert str(result) == str(run(score, tmp_path / "whole.sqlite", rounds_in_flight=4))


class Unwilling(Inline):
    """Works for a while."""

    def __init__(self, then: Callable[["Future[Any]"], Any]) -> None:
        self.left, self.then = 7, then

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        self.left -= 1
        if self.left >= 0:
            self.last = super().submit(fn, *args, **kwargs)
            return self.last
        return self.then(self.last)  # type: ignore[no-any-return]


def shut_down(last: Any) -> Any:
    raise RuntimeError("cannot schedule new futures after shutdown")


def cancelled(last: Any) -> Any:
    future: Future[Any] = Future()
    future.cancel()
    future.set_running_or_notify_cancel()
    return future


def holding(result: Any) -> Callable[[Any], Any]:
    """A future with something else in it."""

    def then(last: Any) -> Any:
        future: Future[Any] = Future()
        future.set_result(result)
        return future

    return then


ANOTHER = "gave a future for round 3 that does not hold what was evaluated, but"


@pytest.mark.parametrize(
    ("then", "text"),
    [
        (shut_down, "takes no evaluations in round 3: RuntimeError: cannot schedule new futures after shutdown"),
        (cancelled, "cancelled an evaluation of round 3"),
        (lambda last: None, "must give a new future for each evaluation, but its submit gave None"),
        (lambda last: last, "must give a new future for each evaluation, but its submit gave the same future twice"),
        (holding(None), f"{ANOTHER} None"),
        (holding([]), rf"{ANOTHER} \[\]"),
        (holding([0.5, 0.6]), rf"{ANOTHER} \[0.5, 0.6\]"),
        (holding([float("nan")]), rf"{ANOTHER} \[nan\]"),
        (holding({0: 0.5}), rf"{ANOTHER} \{{0: 0.5\}}"),
    ],
    ids=["shut down", "cancelled", "nothing", "the same", "None", "empty", "too many", "NaN", "no list"],
)
def test_an_executor_that_breaks_is_one_clear_error_and_loses_nothing(
    then: Callable[[Any], Any], text: str, tmp_path: Path
) -> None:
    path = tmp_path / "race.sqlite"
    with pytest.raises(BrokenExecutor, match=f"^the executor {text}$"):
        run(score, path, executor=Unwilling(then), on_error="disqualify", rounds_in_flight=1)
    assert [row[:2] for row in RaceFile(path).scores()] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (3, 0)]
    assert str(run(score, path, on_error="disqualify")) == str(run(score, tmp_path / "whole.sqlite"))


def exits(arm: str, item: Any) -> float:
    sys.exit(7)


async def exits_later(arm: str, item: Any) -> float:
    return exits(arm, item)


async def starts_a_task_that_exits(arm: str, item: Any) -> float:
    return await asyncio.create_task(exits_later(arm, item))


@pytest.mark.parametrize("evaluate", [exits, exits_later, starts_a_task_that_exits])
def test_sys_exit_ends_the_program_that_calls_race(evaluate: Callable[..., Any]) -> None:
    with pytest.raises(SystemExit) as ended:
        bestarm.race(evaluate, arms=ARMS, on_error="disqualify", progress=False)
    assert ended.value.code == 7
