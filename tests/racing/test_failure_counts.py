"""Evaluations that fail: scores out of bounds, how failures are counted, time-outs, and what verdicts claim."""

import json
import random
import re
import shlex
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor, Future
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm import EvaluationError, OutOfBoundsError, Race, RaceResult, StoreError, load_result, race_commands
from bestarm.racing import FailureCount, Record, evaluation
from bestarm.sources import programs
from bestarm.sources.processes import LATE, Ended
from bestarm.sources.programs import TimedOutError
from conftest import Cli
from race_files import Memory, RaceFile
from row_races import Inline, Way, ways
from small_race import LEVEL, run, share

FROZEN = Path(__file__).parents[1] / "data" / "frozen"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", 1e-6)


each_way = pytest.mark.parametrize("way", ways(run))


# --- scores out of bounds --------------------------------------------------------------------------------------------


@each_way
@pytest.mark.parametrize("on_error", ["raise", "worst", "disqualify"])
def test_a_score_out_of_bounds_is_raised_whatever_on_error_says_and_not_tried_again(way: Way, on_error: str) -> None:
    calls = Counter[tuple[str, int]]()

    def evaluate(arm: str, item: int) -> float:
        calls[arm, item] += 1
        return 1.2 if (arm, item) == ("mid", 3) else share(arm, item)

    told = "evaluate('mid', 3) returned 1.2, which is outside of bounds=(0, 1): give wider bounds and start again"
    with pytest.raises(OutOfBoundsError, match=f"^{re.escape(told)}$") as caught:
        way(evaluate, items=range(20), on_error=on_error, retries=3)
    assert (caught.value.arm, caught.value.item, caught.value.retried) == ("mid", 3, 0)
    assert isinstance(caught.value, EvaluationError)
    assert set(calls.values()) == {1}


@pytest.mark.parametrize("on_error", ["raise", "worst", "disqualify"])
def test_what_was_good_before_a_score_out_of_bounds_is_on_disk(on_error: Any, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    with pytest.raises(OutOfBoundsError):
        run(
            lambda arm, item: -0.5 if arm == "mid" else share(arm, item), items=range(9), on_error=on_error, store=store
        )
    ((number, arm, score, failure),) = RaceFile(store).scores()
    assert (number, arm, failure) == (1, 0, None)
    assert score is not None


@pytest.mark.parametrize("on_error", ["raise", "worst", "disqualify"])
def test_scores_out_of_bounds_are_not_told(on_error: Any) -> None:
    race = Race(list(LEVEL), items=range(50), bounds=(0, 1), on_error=on_error)
    (todo,) = race.ask()
    with pytest.raises(OutOfBoundsError, match=r"^evaluate\('low', \d+\) returned 1\.5, which is outside of bounds"):
        race.tell(todo, {"mid": 0.5, "low": 1.5, "high": 0.5})
    race.tell(todo, dict.fromkeys(LEVEL, 0.5))  # nothing had changed
    assert race.result().scores.tolist() == [[0.5, 0.5, 0.5]]


BOUNDS = [(0.0, 1.0), (-100.0, 300.0), (5.0, 5.001)]


@each_way
@pytest.mark.parametrize("bounds", BOUNDS)
def test_rounding_beyond_a_bound_counts_as_the_bound(way: Way, bounds: tuple[float, float]) -> None:
    low, high = bounds
    slack = 1e-9 * (high - low)

    def evaluate(arm: str, item: int, beyond: float = 0.99) -> float:
        return {"low": low - beyond * slack, "mid": (low + high) / 2, "high": high + beyond * slack}[arm]

    for on_error in ("raise", "worst", "disqualify"):
        result = way(evaluate, bounds=bounds, items=range(40), on_error=on_error)
        assert (result.best, result.failures) == ("high", ())
        assert result.scores[0].tolist() == [low, (low + high) / 2, high]
    with pytest.raises(OutOfBoundsError):
        way(lambda arm, item: evaluate(arm, item, 1.5), bounds=bounds, items=range(40), on_error="worst")


def test_rounding_is_clipped_wherever_scores_come_from() -> None:
    race = Race(["a", "b"], items=range(50), bounds=(0, 1), on_error="worst")
    race.tell(race.ask()[0], {"a": 1 + 1e-9, "b": -1e-9})
    assert race.result().scores.tolist() == [[1.0, 0.0]]
    rows = np.random.default_rng(0).random((40, 2)).round() * [0.5, 1.0]
    off = rows + np.where(rows == 1.0, 1e-9, np.where(rows == 0.0, -1e-9, 0.0))
    assert (off != rows).any()
    functions: list[Callable[..., Any]] = [bestarm.race_table, partial(bestarm.plan, repetitions=10)]
    for function in functions:
        assert str(function(off, bounds=(0, 1))) == str(function(rows, bounds=(0, 1)))
        with pytest.raises(ValueError, match=r"^bounds must be wider than \(0, 1\): .* outside \(the first in row"):
            function(rows + 1.5e-9, bounds=(0, 1))


def test_missing_cells_stay_missing_when_a_table_is_clipped() -> None:
    rows = np.random.default_rng(1).random((40, 2))
    rows[3, 1], rows[4, 0] = np.nan, 1 + 1e-10
    with pytest.raises(ValueError, match="1 of 80 cells are empty"):
        bestarm.race_table(rows, bounds=(0, 1))
    result = bestarm.race_table(rows, bounds=(0, 1), missing="worst", epsilon=1e-9)
    assert result.failures == (FailureCount("1", worst=1),)


# --- how failures are counted ----------------------------------------------------------------------------------------


class Flaky:
    """Scores that come after some failures, by arm and item; counts what failed."""

    def __init__(self) -> None:
        self.calls = Counter[tuple[str, int]]()
        self.failed = Counter[str]()

    def __call__(self, arm: str, item: int) -> float:
        self.calls[arm, item] += 1
        luck = random.Random(f"{arm} {item} fails")  # noqa: S311 - no secrets here
        if arm != "low" and self.calls[arm, item] <= luck.choice([0, 0, 0, 1, 2, 3]):
            self.failed[arm] += 1
            raise OSError("disk: full")
        return share(arm, item)


def as_counts(result: RaceResult[Any]) -> dict[str, tuple[int, int, int, int]]:
    return {one.arm: (one.retried, one.worst, one.timed_out, one.disqualified) for one in result.failures}


@each_way
def test_attempts_that_were_tried_again_and_scores_counted_as_worst_are_told_apart(way: Way) -> None:
    flaky = Flaky()
    result = way(flaky, retries=2, on_error="worst", items=range(30), rounds_in_flight=1, epsilon=1e-9)
    counts = as_counts(result)
    assert set(counts) >= {"mid", "high"}
    if way.__name__ != "jointly":  # where all arms are tried again if one failed
        assert set(counts) == {"mid", "high"}
        for arm, (retried, worst, timed_out, gone) in counts.items():
            assert retried + worst == flaky.failed[arm]
            assert worst == (result.scores[:, list(LEVEL).index(arm)] == 0.0).sum() > 0
            assert (timed_out, gone) == (0, 0)


def test_of_arms_evaluated_together_only_those_that_failed_are_counted() -> None:
    calls: list[int] = []

    def together(arms: tuple[str, ...], item: int) -> dict[str, Any]:
        calls.append(item)
        return {arm: "soon" if arm == "mid" and calls.count(item) < 3 else share(arm, item) for arm in arms}

    result = run(together, jointly=True, retries=2, items=range(8))
    assert as_counts(result) == {"mid": (2 * int(result.counts[1]), 0, 0, 0)}

    def raising(arms: tuple[str, ...], item: int) -> dict[str, Any]:
        calls.append(item)
        if len(calls) == 1:
            raise OSError
        return {arm: share(arm, item) for arm in arms}

    calls.clear()
    assert as_counts(run(raising, jointly=True, retries=1)) == dict.fromkeys(LEVEL, (1, 0, 0, 0))


def test_a_race_without_failures_counts_none() -> None:
    result = run()
    assert result.failures == ()
    assert "failed" not in str(result)
    assert json.loads(result.to_json())["failures"] == []


def always(bad: Mapping[str, int]) -> Callable[[str, int], float]:
    """Fails from the n-th call of an arm on."""
    calls = Counter[str]()

    def evaluate(arm: str, item: int) -> float:
        calls[arm] += 1
        if calls[arm] >= bad.get(arm, 10**9):
            raise OSError("disk full")
        return share(arm, item)

    return evaluate


@pytest.mark.parametrize("retries", [0, 2])
@pytest.mark.parametrize("n", [1, 4])
def test_a_disqualification_is_counted_once_with_the_attempts_before_it(retries: int, n: int, tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    result = run(always({"high": n}), retries=retries, on_error="disqualify", store=store)
    assert as_counts(result) == {"high": (retries, 0, 0, 1)}
    assert load_result(store).failures == result.failures
    assert result.disqualified[0].failure.startswith(
        "retried 2 times: evaluate('high'" if retries else "evaluate('high'"
    )


def test_a_disqualification_that_ends_the_race_counts_its_attempts_too(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    result = run(always({"high": 3}), ["mid", "high"], retries=1, on_error="disqualify", store=store)
    assert (result.best, result.n_rounds) == ("mid", 2)  # the third round is not absorbed
    assert as_counts(result) == {"high": (1, 0, 0, 1)} == as_counts(load_result(store))


@pytest.mark.parametrize("on_error", ["worst", "disqualify"])
@pytest.mark.parametrize("retries", [1, 3])
def test_counts_are_the_same_in_every_store_and_however_often_a_race_is_continued(
    on_error: Any, retries: int, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"items": range(40), "on_error": on_error, "retries": retries, "epsilon": 1e-9}
    whole = run(Flaky(), **options)
    assert whole.failures != ()
    for store in (tmp_path / "race.sqlite", Memory()):
        flaky = Flaky()
        for budget in (9, 20, 31, 50, None):
            part = run(flaky, store=store, max_evaluations=budget, **options)
            if store is not None and not isinstance(store, Memory):
                assert load_result(store).failures == part.failures
        assert part.failures == whole.failures
        assert str(part) == str(whole)


def test_what_failed_before_an_error_was_raised_is_counted_anew_when_the_race_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    flaky = Flaky()  # some arms fail three times
    with pytest.raises(EvaluationError, match=r"disk: full \(2 attempts; see retries and on_error\)$"):
        run(flaky, retries=1, store=store, items=range(40))
    before = load_result(store)
    after = run(Flaky(), retries=3, store=store, items=range(40))
    assert sum(one.retried for one in after.failures) > sum(one.retried for one in before.failures)


def test_failures_of_files_of_earlier_versions_count_as_worst() -> None:
    path = FROZEN / "worst.sqlite"
    result = load_result(path)
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as file:
        query = (
            "SELECT name, count(*) FROM scores JOIN arms USING (arm) WHERE failure NOT NULL AND round <= ? GROUP BY 1"
        )
        rows = dict(file.execute(query, (result.n_rounds,)))
    assert {one.arm: one.worst for one in result.failures} == rows != {}
    assert sum(one.retried + one.timed_out + one.disqualified for one in result.failures) == 0


def failure_in(text: str, score: float | None) -> tuple[Any, ...]:
    """The failure of a row of a store (text, attempts before the last, counted as, bare), which keeps its text."""
    record = Record.of_rows([(1, "x", 1)], [(1, 0, score, text)], ahead=1)
    assert list(record.rows()) == [(1, 0, score, text)]
    [(_, _, _, failure)] = record.failed_rows()
    assert failure is not None
    return tuple(failure)


@pytest.mark.parametrize("text", ["boom", "retried 7 times: x"])
@pytest.mark.parametrize(("before", "retried"), [("", 0), ("retried 1 time", 1), ("retried 31 times", 31)])
@pytest.mark.parametrize(
    ("after", "counted"), [("", ""), ("counted as worst", "worst"), ("counted as time-out", "time-out")]
)
def test_the_text_of_a_failure_in_a_store_is_read_as_it_was_written(
    text: str, before: str, retried: int, after: str, counted: str
) -> None:
    if not (before or after):
        return
    stored = f"{', '.join(filter(None, [before, after]))}: {text}"
    assert failure_in(stored, 0.5) == (text, retried, counted, False)
    assert failure_in(stored, None) == ((stored, 0, "", False) if counted else (text, retried, "", False))


def test_texts_without_a_beginning_are_failures_as_they_stand() -> None:
    assert failure_in("retried it: no", 0.5) == ("retried it: no", 0, "worst", True)
    assert failure_in("it: no", None) == ("it: no", 0, "", False)


def test_failures_that_are_told_with_words_like_ours_are_counted_as_what_they_are() -> None:
    race = Race(list(LEVEL), items=range(100), bounds=(0, 1), on_error="worst")
    text = "retried 2 times, counted as time-out: the cluster lost it"
    race.tell(race.ask()[0], LEVEL | {"mid": EvaluationError(text)})
    assert as_counts(race.result()) == {"mid": (0, 1, 0, 0)}


def test_counts_are_in_the_table_on_the_page_in_json_and_on_the_command_line(cli: Cli, tmp_path: Path) -> None:
    tried = Counter[Any]()

    def evaluate(arm: str, item: int) -> float:
        tried[arm] += 1
        if (arm, tried[arm]) in {("mid", 2), ("mid", 5), ("mid", 6), ("low", 1)}:
            raise OSError("[bold]")
        return share(arm, item)

    result = run(evaluate, retries=1, on_error="worst", store=tmp_path / "race.sqlite")
    sentence = "4 evaluations failed: low (1 retried) and mid (2 retried, 1 counted as worst)."
    assert sentence in " ".join(str(result).split())
    assert sentence in " ".join(result.explain().split())
    assert "failed" not in result.verdict
    result.to_html(tmp_path / "race.html")
    assert sentence in " ".join((tmp_path / "race.html").read_text(encoding="utf-8").split())
    assert json.loads(result.to_json())["failures"] == [asdict(one) for one in result.failures]
    assert sentence in " ".join(cli("show", tmp_path / "race.sqlite").stdout.split())
    one = run(always({"high": 1}), on_error="disqualify")
    assert "Warning: high was disqualified in round 1 (" in str(one)
    assert "evaluation failed" not in str(one)  # failures are counted in one way on a screen


def test_of_many_arms_with_failures_the_first_are_named() -> None:
    def evaluate(arm: str, item: int) -> float:
        if arm != "arm 0" and item % 5 == 0:
            raise OSError
        return 0.5

    result = run(evaluate, [f"arm {k}" for k in range(8)], on_error="worst", max_evaluations=80)
    said = " ".join(str(result).split())
    n = sum(int(item) % 5 == 0 for item in result.items)
    assert f"{7 * n} evaluations failed: arm 1 ({n} counted as worst), " in said
    assert f"arm 5 ({n} counted as worst) and 2 more." in said


class Breaking(Inline):
    """Evaluates when it is asked to, and breaks down after so many evaluations."""

    def __init__(self, n_left: int) -> None:
        self.n_left = n_left

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        if self.n_left == 0:
            raise BrokenExecutor("gone")
        self.n_left -= 1
        return super().submit(fn, *args, **kwargs)


def test_scores_are_kept_when_an_executor_breaks_down_also_those_after_a_retry_but_no_failures(tmp_path: Path) -> None:
    calls, store = Counter[str](), tmp_path / "race.sqlite"

    def evaluate(arm: str, item: int) -> float:
        calls[arm] += 1
        if arm == "timed out":
            raise TimedOutError("it takes too long", 0.0)
        if arm == "failed" or (arm == "retried" and calls[arm] == 1):
            raise OSError("not now")
        return 0.5

    arms = ["plain", "retried", "failed", "timed out", "never asked"]
    with pytest.raises(BrokenExecutor, match="gone"):
        run(evaluate, arms, executor=Breaking(4), retries=1, on_error="worst", store=store)
    assert calls == {"plain": 1, "retried": 2, "failed": 2, "timed out": 1}
    plain, retried = RaceFile(store).scores()
    assert plain == (1, 0, 0.5, None)
    assert retried[:3] == (1, 1, 0.5)
    assert re.fullmatch(r"retried 1 time: evaluate\('retried', \d+\) failed: OSError: not now", retried[3] or "")


# --- time-outs -------------------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Programs that are not really run: how often each was started. Odd runs of "breaks" fail."""
    runs = Counter[str]()

    def pretend(words: list[str], timeout: float, folder: str | None, whole_output: bool) -> Ended:
        runs[words[0]] += 1
        late = words[0] == "slow" or (words[0] == "sometimes" and runs["sometimes"] % 4 == 2)
        code = 1 if words[0] == "breaks" and runs["breaks"] % 2 else 0
        return Ended(code, 0.001, b"1", False, b"", LATE if late else "")

    monkeypatch.setattr(programs, "run_program", pretend)
    return runs


@pytest.mark.parametrize("on_error", ["raise", "disqualify"])
def test_a_run_that_reaches_the_time_out_counts_as_that_and_is_not_tried_again(
    on_error: Any, started: Counter[str], tmp_path: Path
) -> None:
    store = tmp_path / "race.sqlite"
    options: dict[str, Any] = {"timeout": 60, "retries": 3, "on_error": on_error, "progress": False, "store": store}
    result = race_commands(["slow", "quick"], **options)
    n = result.n_rounds
    assert (result.best, started, result.disqualified) == ("quick", {"slow": n, "quick": n}, ())
    assert result.failures == (FailureCount("slow", timed_out=n, timeout=60.0),)
    assert result.means[0] == 60.0
    assert f"{n} runs of slow reached the time-out of 60 seconds and count as that." in result.explain()
    assert "failed" not in str(result)
    assert str(load_result(store)) == str(result)
    assert load_result(store).failures == result.failures


def test_runs_of_several_programs_that_timed_out_are_said_in_one_sentence(started: Counter[str]) -> None:
    result = race_commands(["slow", "sometimes", "quick"], timeout=0.5, max_evaluations=6, progress=False)
    said = "2 runs of slow and 1 run of sometimes reached the time-out of 0.5 seconds and count as that."
    assert said in result.explain()
    alone = race_commands(["slow", "quick"], timeout=0.5, max_evaluations=2, progress=False)
    assert "\n1 run of slow reached the time-out of 0.5 seconds and counts as that." in alone.explain()


def test_programs_that_break_are_tried_again_and_those_that_time_out_are_not(started: Counter[str]) -> None:
    result = race_commands(["slow", "breaks"], timeout=2, retries=1, progress=False)
    n = result.n_rounds
    assert started == {"slow": n, "breaks": 2 * n}
    assert as_counts(result) == {"slow": (0, 0, n, 0), "breaks": (n, 0, 0, 0)}


def test_a_time_out_where_what_is_printed_is_the_score_is_a_failure(started: Counter[str]) -> None:
    late = r"^'slow' failed on \d+: it took longer than the timeout of 2 seconds \(see retries and on_error\)$"
    with pytest.raises(EvaluationError, match=late):
        race_commands(["slow", "quick"], timeout=2, score="stdout", progress=False)
    options: dict[str, Any] = {"timeout": 2, "bounds": (0, 1), "retries": 2, "progress": False}
    result = race_commands(["slow", "quick"], score="stdout", on_error="worst", **options)
    assert as_counts(result) == {"slow": (2 * result.n_rounds, result.n_rounds, 0, 0)}


def test_bounds_below_the_time_out_are_wrong(started: Counter[str]) -> None:
    with pytest.raises(OutOfBoundsError, match=r"returned 60\.0, which is outside of bounds=\(0, 10\)"):
        race_commands(["slow", "quick"], bounds=(0, 10), on_error="worst", progress=False)
    result = race_commands(["slow", "quick"], bounds=(0, 60), on_error="worst", progress=False)
    assert as_counts(result) == {"slow": (0, 0, result.n_rounds, 0)}


def test_a_race_of_times_goes_on_with_the_same_time_out_only(started: Counter[str], tmp_path: Path) -> None:
    store = tmp_path / "race.sqlite"
    race_commands(["slow", "quick"], timeout=5, store=store, max_evaluations=6, progress=False)
    with pytest.raises(StoreError, match=r"timeout was 5\.0 when the race began and is 7\.0 now"):
        race_commands(["slow", "quick"], timeout=7, store=store, progress=False)
    with closing(sqlite3.connect(store)) as file, file:  # files of earlier versions do not hold it
        file.execute("""UPDATE settings SET value = '{"score": "time"}' WHERE name = 'source'""")
    assert race_commands(["slow", "quick"], timeout=5, store=store, progress=False).best == "quick"
    other = tmp_path / "printed.sqlite"
    options: dict[str, Any] = {"score": "stdout", "store": other, "progress": False}
    race_commands(["a", "b"], timeout=5, max_evaluations=6, **options)
    assert race_commands(["a", "b"], timeout=7, max_evaluations=8, **options).n_evaluations == 8


def test_a_program_that_really_sleeps_counts_as_the_time_out() -> None:
    sleep = shlex.join([sys.executable, "-IS", "-c", "import time; time.sleep(30)"])
    quick = shlex.join([sys.executable, "-IS", "-c", ""])
    result = race_commands({"sleep": sleep, "quick": quick}, timeout=0.6, max_evaluations=4, progress=False)
    assert result.scores[:, 0].tolist() == [0.6, 0.6]
    assert (result.scores[:, 1] <= 0.6).all()
