"""Races in which something goes wrong: evaluations that fail, arms that leave, calls out of order, Ctrl-C."""

import math
import multiprocessing
import operator
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import small_race
from bestarm import EvaluationError, Race, RaceResult
from bestarm.algorithms import LUCB, ConvexBAI, KimNelson, PairwiseBAI
from bestarm.comparisons import Betting, ConvexBernstein, Portfolio, StudentMixture
from bestarm.racing import evaluation
from conftest import Cli
from games import outcome
from naive import Matrix
from race_files import RaceFile
from row_races import (
    ALGORITHMS,
    Evaluate,
    Inline,
    Way,
    bounded_rows,
    gaussian_rows,
    play,
    reads,
    run,
    score,
    told,
    ways,
)
from slow_games import slow_game

ARMS = {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4}
Bad = dict[tuple[int, int], Any]  # by item and arm: what happens instead of a score


class Tensor:
    def __float__(self) -> float:
        raise RuntimeError("only one element tensors can be converted")


def failing(rows: Matrix, bad: Bad) -> Evaluate:
    def evaluate(arm: int, item: int) -> Any:
        value = bad.get((item, arm), float(rows[item, arm]))
        if isinstance(value, BaseException):
            raise value.with_traceback(None)
        return value

    return evaluate


def in_turn(evaluate: Evaluate, **options: Any) -> RaceResult[Any]:
    return run(evaluate, ARMS, iter(range(400)), **options)


_, on_threads, awaited, _ = ways(in_turn)


# --- what a failure is -----------------------------------------------------------------------------------------------

BOOM = ValueError("boom")
BAD: list[tuple[Any, str]] = [
    (BOOM, "failed: ValueError: boom"),
    (math.nan, "returned nan: a score must be a finite number"),
    (-math.inf, "returned -inf: a score must be a finite number"),
    ("0.5", "returned '0.5', which is not a number"),
    (b"1", "returned b'1', which is not a number"),
    (None, "returned None, which is not a number"),
    ([0.5, 0.5], "returned [0.5, 0.5], which is not a number"),
    (10**400, "returned a number too large for a float: a score must be a finite number"),
    (Tensor(), ""),
]


each_failure = pytest.mark.parametrize(("value", "text"), BAD, ids=[text or "tensor" for _, text in BAD])


@each_failure
@pytest.mark.parametrize("way", [in_turn, on_threads, awaited])
def test_a_failure_is_raised_with_its_arm_and_item(way: Way, value: Any, text: str) -> None:
    with pytest.raises(EvaluationError, match=rf"^evaluate\('b', 2\) .*{re.escape(text)} \(see") as caught:
        way(failing(bounded_rows(0), {(2, 1): value}), bounds=(0, 1))
    assert value is not BOOM or caught.value.__cause__ is BOOM


def test_a_failure_that_ends_a_race_says_which_options_there_are(cli: Cli) -> None:
    with pytest.raises(EvaluationError, match=r": boom \(see retries and on_error\)$"):
        in_turn(failing(bounded_rows(0), {(2, 1): BOOM}), bounds=(0, 1))
    race = Race(["a", "b"], items=range(9))
    with pytest.raises(EvaluationError, match=r": boom \(see on_error\)$"):  # attempts are the caller's
        race.tell(race.ask()[0], {"a": BOOM})
    ended = cli("commands", "false", "true", "--retries", 1, "--quiet")
    assert ended.exit_code == 4
    assert ended.stderr.endswith("(2 attempts; see --retries and --on-error)\n")
    result = in_turn(failing(bounded_rows(0), {(2, 1): BOOM}), bounds=(0, 1), on_error="disqualify")
    assert result.disqualified[0].failure.endswith(": boom")


@each_failure
@pytest.mark.parametrize("lower", [False, True])
def test_a_failure_counts_as_the_worst_bound(value: Any, text: str, lower: bool, monkeypatch: Any) -> None:
    rows = bounded_rows(0)
    options: dict[str, Any] = {"bounds": (0, 1), "rounds_in_flight": 4, "lower_is_better": lower}
    bad: Bad = {(2, 1): value, (30, 0): value, (31, 0): value}
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", 1e-4)
    results = [way(failing(rows, bad), on_error="worst", retries=2, **options) for way in (in_turn, on_threads)]
    for item, arm in bad:
        rows[item, arm] = float(lower)
    assert told(results[0]) == told(results[1]) == told(in_turn(reads(rows), **options))


@each_failure
def test_an_arm_that_fails_leaves_in_that_round(value: Any, text: str) -> None:
    result = in_turn(failing(bounded_rows(0), {(2, 1): value}), bounds=(0, 1), on_error="disqualify")
    (gone,) = result.disqualified
    assert (gone.arm, gone.round, gone.had_eliminated) == ("b", 3, ())
    assert (gone.failure.startswith("evaluate('b', 2) "), gone.failure.endswith(text)) == (True, True)
    assert result.counts[1] == 2
    assert "b" not in [*result.candidates, *[out.arm for out in result.eliminations]]


JOINT: list[tuple[Callable[..., Any], str]] = [
    (lambda arms, item: [0.5] * 4, "must return 5 scores, one for each arm it is given, got [0.5, 0.5, 0.5"),
    (lambda arms, item: 0.5, "must return 5 scores, one for each arm it is given, got 0.5"),
    (lambda arms, item: dict.fromkeys("abde", 0.5), "evaluate('c', 0) returned None, which is not a number"),
    (lambda arms, item: (1 / k for k in (2, 2, 0, 2, 2)), ", 0) failed: ZeroDivisionError"),
]


@pytest.mark.parametrize(("evaluate", "text"), JOINT)
def test_scores_of_all_arms_at_once_are_checked_too(evaluate: Evaluate, text: str) -> None:
    with pytest.raises(EvaluationError, match=re.escape(text)):
        in_turn(evaluate, bounds=(0, 1), jointly=True)


def test_scores_by_name_are_found_for_candidates_that_cannot_be_hashed() -> None:
    arms = {"x": ("low", [0.25]), "y": ("high", [0.75])}
    result = run(lambda given, item: {"x": 0.25, "y": 0.75}, arms, range(50), bounds=(0, 1), jointly=True)
    assert (result.best, result.reason) == ("y", "decided")


@pytest.mark.parametrize("way", [in_turn, on_threads, awaited])
@pytest.mark.parametrize("value", [BOOM, math.nan, None])
def test_an_evaluation_is_tried_again(way: Way, value: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(evaluation, "FIRST_PAUSE", 1e-4)
    rows, attempts = bounded_rows(0), Counter[tuple[int, int]]()

    def evaluate(arm: int, item: int) -> Any:
        attempts[item, arm] += 1
        flaky = (item + arm) % 3 == 0 and attempts[item, arm] <= 2
        return failing(rows, {(item, arm): value} if flaky else {})(arm, item)

    result = way(evaluate, bounds=(0, 1), retries=2, rounds_in_flight=2)
    assert told(result) == told(in_turn(reads(rows), bounds=(0, 1), rounds_in_flight=2))
    assert all(n == (3 if sum(call) % 3 == 0 else 1) for call, n in attempts.items() if call[0] < result.n_rounds)
    attempts.clear()
    with pytest.raises(EvaluationError, match=r" \(2 attempts; see retries and on_error\)$"):
        way(evaluate, bounds=(0, 1), retries=1, rounds_in_flight=2)
    assert max(attempts.values()) == 2


def test_pauses_double_up_to_the_longest(monkeypatch: Any) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("bestarm.racing.evaluation.time.sleep", pauses.append)
    with pytest.raises(EvaluationError, match=r"boom \(12 attempts; see"):
        in_turn(failing(bounded_rows(0), {(0, 0): BOOM}), retries=11)
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0])
    assert evaluation.pause(5000) == 30.0


# --- disqualification ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("algorithm", "make_rows"), [*ALGORITHMS[:6], (KimNelson(), gaussian_rows)])
@pytest.mark.parametrize("rounds_in_flight", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_a_race_with_failures_is_the_game_in_which_the_arms_are_disqualified(
    algorithm: Any, make_rows: Callable[..., Matrix], rounds_in_flight: int, seed: int
) -> None:
    rows, rng = make_rows(seed), np.random.default_rng(seed)
    bad: Bad = {(int(rng.integers(last)), int(rng.integers(5))): BOOM for last in (9, 30, 60)}
    race = Race(
        range(5), items=iter(range(400)), algorithm=algorithm, rounds_in_flight=rounds_in_flight, on_error="disqualify"
    )
    play(race, lambda arm, item: bad.get((item, arm), rows[item, arm]))
    game, gone = algorithm.start(5), []
    for item, row in enumerate(rows):
        for arm in (arm for arm in range(5) if (item, arm) in bad and not game.finished and arm in game.ask()):
            game.disqualify(arm)
            gone.append((arm, item + 1))
        if game.finished:
            break
        game.tell(row[game.ask()])
    result = race.result()
    assert (outcome(race.state.game), result.reason, result.leader) == (outcome(game), game.reason, game.best)
    assert [(one.arm, one.round) for one in result.disqualified] == gone != []
    assert result.counts.tolist() == (~np.isnan(result.scores)).sum(axis=0).tolist()
    if rounds_in_flight == 1:
        assert (result.means.tolist(), result.counts.tolist()) == (game.means.tolist(), game.counts.tolist())


def test_those_that_a_disqualified_arm_had_eliminated_are_named_and_stay_out() -> None:
    rows = 0.2 * np.random.default_rng(0).random((400, 1)) + np.array([0.0, 0.8, 0.75, 0.7, 0.1])
    result = in_turn(failing(rows, {(30, 1): BOOM}), bounds=(0, 1), on_error="disqualify")
    assert [(one.arm, one.round, one.had_eliminated) for one in result.disqualified] == [("b", 31, ("a", "e"))]
    assert [(one.arm, one.round, one.by) for one in result.eliminations[:2]] == [("a", 9, "b"), ("e", 9, "b")]
    assert (result.best, result.reason, result.eliminations[2].arm) == ("c", "decided", "d")
    assert re.search(
        r"b was disqualified in round 31.*It had eliminated a and e, which may be better", result.explain()
    )


@pytest.mark.parametrize("bad_arms", [(0, 1, 2, 3, 4), (0, 2)])
@pytest.mark.parametrize("rounds_in_flight", [1, 4])
def test_when_all_candidates_fail_in_one_round_there_is_no_winner(
    bad_arms: tuple[int, ...], rounds_in_flight: int
) -> None:
    bad: Bad = {(0, 1): BOOM, (1, 3): BOOM, (1, 4): BOOM} if len(bad_arms) == 2 else {}
    evaluate = failing(bounded_rows(0), bad | {(5, arm): BOOM for arm in bad_arms})
    result = in_turn(evaluate, bounds=(0, 1), on_error="disqualify", rounds_in_flight=rounds_in_flight)
    assert (result.reason, result.best, result.n_rounds) == ("outage", None, 5)
    assert len(result.candidates) == len(bad_arms)


def test_the_only_arm_that_can_be_evaluated_wins() -> None:
    for item in (0, 7):
        bad: Bad = {(item, arm): BOOM for arm in (0, 1, 3, 4)}
        result = in_turn(failing(bounded_rows(0), bad), bounds=(0, 1), on_error="disqualify")
        assert (result.best, result.candidates, result.reason, result.n_rounds) == ("c", ("c",), "decided", item)
        assert ([one.arm for one in result.disqualified], result.n_evaluations) == (
            ["a", "b", "d", "e"],
            5 * (item + 1),
        )


def test_failures_of_arms_already_out_and_of_rounds_after_the_end_do_not_matter() -> None:
    rows = bounded_rows(5)
    expected = told(in_turn(reads(rows), bounds=(0, 1), rounds_in_flight=5))
    out = expected["eliminations"][0]
    bad: Bad = {(item, ARMS[out.arm]): BOOM for item in range(out.round, out.round + 4)}
    bad |= {(item, arm): BOOM for item in range(expected["n_rounds"], 400) for arm in range(5)}
    for way in (in_turn, on_threads, awaited):
        result = way(failing(rows, bad), bounds=(0, 1), rounds_in_flight=5, on_error="disqualify")
        missing = np.isnan(result.scores).sum(axis=0) - np.count_nonzero(np.array(expected["scores"]) == -9.0, axis=0)
        assert missing.tolist() == [4 * (arm == ARMS[out.arm]) for arm in range(5)]
        of_scores = {name: expected[name] for name in ("scores", "means", "counts")}
        assert told(result) | of_scores == expected
        assert (result[out.arm].status, result.failures) == ("out", ())


@pytest.mark.parametrize("executor", [None, Inline()])
def test_a_failure_after_the_end_is_not_raised_whatever_its_time(executor: Executor | None) -> None:
    rows = bounded_rows(5)
    expected = in_turn(reads(rows), bounds=(0, 1), rounds_in_flight=5)
    bad: Bad = {(item, arm): BOOM for item in range(expected.n_rounds, 400) for arm in range(5)}
    assert told(in_turn(failing(rows, bad), bounds=(0, 1), rounds_in_flight=5, executor=executor)) == told(expected)


WAKING_SOON = Betting(bets=(0.9, 0.5), reserve=0.4)  # in rounds 4, 16 and 64: before and after arms fail


@pytest.mark.parametrize("options", [{}, {"keep": 3.0}, {"epsilon": 0.05}])
@pytest.mark.parametrize("comparison", [StudentMixture(), Betting(), Betting(pool=90), WAKING_SOON])
@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_of_a_disqualified_arm_is_lost(comparison: Any, options: dict[str, Any], seed: int) -> None:
    rows = gaussian_rows(seed, 90) if isinstance(comparison, StudentMixture) else bounded_rows(seed, 90)
    slow = slow_game(comparison, rows, 0.1, **options)
    game = PairwiseBAI(0.1, comparison=comparison, **options).start(5)
    rng = np.random.default_rng(seed)
    fails = dict(zip(rng.permutation(24)[:3].tolist(), rng.permutation(5)[:3].tolist(), strict=True))
    failed = 0
    for t, row in enumerate(rows):
        if t in fails and slow.goes_on() and fails[t] in slow.queried(t + 1):
            slow.disqualify(fails[t])
            game.disqualify(fails[t])
            failed += 1
        if not slow.goes_on():
            break
        assert game.ask().tolist() == slow.queried(t + 1)
        slow.next_round()
        game.tell(row[game.ask()])
    assert failed > 0
    assert outcome(game) == slow.outcome


REFUSED: list[tuple[Any, list[int], type[Exception], str]] = [
    (LUCB(), [0], TypeError, "LUCB asks for two arms at a time"),
    (ConvexBAI(comparison=ConvexBernstein()), [0], TypeError, "compared in combinations"),
    (ConvexBAI(comparison=Portfolio()), [0], TypeError, "a portfolio has bet on"),
    (PairwiseBAI(), [2, 2], ValueError, "only an arm that is asked can be disqualified, got 2"),
    (PairwiseBAI(), [5], ValueError, "only an arm that is asked can be disqualified, got 5"),
    (PairwiseBAI(), [0, 1, 3, 4, 2], RuntimeError, "the game has ended (decided) after round 1"),
    (PairwiseBAI(max_rounds=1), [0], RuntimeError, "the game has ended (budget) after round 1"),
]


@pytest.mark.parametrize(("algorithm", "arms", "kind", "text"), REFUSED)
def test_what_cannot_be_disqualified_is_refused(algorithm: Any, arms: list[int], kind: Any, text: str) -> None:
    game = algorithm.start(5)
    game.play([[0.5, 0.3, 0.2, 0.4, 0.1]])
    for arm in arms[:-1]:
        game.disqualify(arm)
    before = outcome(game)
    with pytest.raises(kind, match=re.escape(text)):
        game.disqualify(arms[-1])
    assert outcome(game) == before


CALLS: list[tuple[int, dict[str, Any], type[Exception], str]] = [
    (1, {"a": 0.5}, ValueError, "round 1 is complete: all its scores have already been told"),
    (4, {"a": 0.5}, ValueError, "round 4 has not been asked: call ask() first"),
    (5, {"a": 0.5}, ValueError, "there is no round 5 to tell: call ask() first"),
    (0, {"a": 0.5}, ValueError, "there is no round 0 to tell"),
    (2, {"b": 0.5, "a": 0.5}, ValueError, "the score of arm 'a' in round 2 was already told"),
    (2, {"b": 0.5, "z": 0.5}, ValueError, "there is no arm 'z': the arms are a, b, c, d, e"),
    (2, {"b": 0.5, "c": math.nan}, EvaluationError, "evaluate('c', 1) returned nan"),
    (3, {"a": 0.5, "c": BOOM}, EvaluationError, "evaluate('c', 2) failed: ValueError: boom"),
]


def test_calls_out_of_order_are_refused_and_change_nothing() -> None:
    rows = bounded_rows(0)
    race = Race(ARMS, items=iter(range(400)), bounds=(0, 1), rounds_in_flight=3)
    with pytest.raises(ValueError, match=re.escape("round 1 has not been asked: call ask() first")):
        race.tell(1, {"a": 0.5})
    todo, none = race.ask(), race.ask()
    race.tell(todo[0], {arm: rows[0, k] for arm, k in ARMS.items()})
    race.tell(todo[1], {"a": rows[1, 0]})
    for number, scores, kind, text in CALLS:
        with pytest.raises(kind, match=re.escape(text)):
            race.tell(number, scores)
    race.tell(2, {arm: rows[1, k] for arm, k in ARMS.items() if arm != "a"})
    race.tell(3, {arm: rows[2, k] for arm, k in ARMS.items()})
    play(race, lambda arm, item: rows[item, ARMS[arm]])
    assert (none, told(race.result())) == ([], told(in_turn(reads(rows), bounds=(0, 1), rounds_in_flight=3)))
    with pytest.raises(RuntimeError, match=re.escape("the race has ended (decided): nothing to ask")):
        race.ask()


def test_an_arm_is_told_once_and_when_it_was_asked_also_under_two_names_and_after_the_end() -> None:
    race = Race([1, 2, 3], items=iter(range(400)), bounds=(0, 1), rounds_in_flight=2)
    out = race.ask()
    with pytest.raises(ValueError, match="'1'"):
        race.tell(out[0], {1: 0.25, "1": 0.75})  # type: ignore[arg-type]
    while not race.finished:
        if 1 not in out[0].arms:
            with pytest.raises(ValueError, match=f"arm '1' was not asked for in round {out[0].number}"):
                race.tell(out[0], {2: 0.5, 1: 0.5})
        todo = out.pop(0)
        race.tell(todo, {arm: {1: 0.0, 2: 1.0, 3: 0.75}[arm] for arm in todo.arms})
        out += [] if race.finished else race.ask()
    end = told(race.result())
    assert [one.arm for one in race.result().eliminations] == [1, 3]
    race.tell(out[-1], {"3": 1.0})
    with pytest.raises(ValueError, match=f"the score of arm '3' in round {out[-1].number} was already told"):
        race.tell(out[-1], {3: 1.0})
    assert told(race.result()) == end


# --- Ctrl-C and workers that die -------------------------------------------------------------------------------------


def test_a_pool_of_processes_that_breaks_down_ends_the_race() -> None:
    spawn, arms = multiprocessing.get_context("spawn"), {"lives": float, "dies": os._exit}
    with ProcessPoolExecutor(1, spawn) as pool, pytest.raises(BrokenExecutor, match=r"broke down .* round 1: "):
        run(operator.call, arms, range(5), executor=pool, on_error="disqualify", rounds_in_flight=1)


SCRIPT = """
import asyncio, itertools, os, signal, sys, threading
from concurrent.futures import ThreadPoolExecutor
import bestarm
way, calls, stop = sys.argv[1], itertools.count(), threading.Event()
before = signal.getsignal(signal.SIGINT)
def evaluate(arm, item):
    if next(calls) >= 23:
        os.write(1, b"waiting\\n")  # print would mix the lines of threads
        stop.wait(30)
    return ((item * 37) % 64 + 16 * arm) / 128
async def later(arm, item):
    return await asyncio.to_thread(evaluate, arm, item)
how = {"executor": ThreadPoolExecutor(2)} if way == "threads" else {}
function = later if way == "async" else evaluate
how |= {"bounds": (0, 1), "store": "race.sqlite", "rounds_in_flight": 2}
result = bestarm.race(function, arms=range(5), items=range(200), **how)
stop.set()
print(result.reason, signal.getsignal(signal.SIGINT) is before)
"""


@pytest.mark.parametrize("way", ["in turn", "threads", "async"])
def test_ctrl_c_ends_a_program_with_what_is_known_and_the_race_continues(way: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as program:  # noqa: S603
        assert program.stdout is not None
        assert program.stdout.readline() == "waiting\n"
        program.send_signal(signal.SIGINT)
        assert program.stdout.read().splitlines()[-1] == "interrupted True"
    assert program.returncode == 0
    stored = len(RaceFile(tmp_path / "race.sqlite").scores())
    first, then = Mock(side_effect=score), Mock(side_effect=score)
    options: dict[str, Any] = {"items": range(200), "bounds": (0, 1), "rounds_in_flight": 2}
    assert told(run(then, store=tmp_path / "race.sqlite", **options)) == told(run(first, **options))
    assert 14 <= stored == first.call_count - then.call_count  # 24 calls began, at most 2 rounds of 5 were in flight


class Losing(ThreadPoolExecutor):
    """An executor that loses the results of one arm so many times."""

    def __init__(self, arm: str, times: int) -> None:
        super().__init__(1)
        self.arm, self.times, self.submitted = arm, times, 0

    def submit(self, function: Any, /, *args: Any, **named: Any) -> Future[Any]:
        self.submitted += 1
        future = super().submit(function, *args, **named)
        if args[0].names == (self.arm,) and self.times > 0:
            self.times -= 1
            lost: Future[Any] = Future()
            lost.set_exception(ValueError("not enough values to unpack"))
            return lost
        return future


def test_what_an_executor_loses_is_evaluated_once_more_and_then_a_failure() -> None:
    plain = small_race.run(items=range(50))
    with Losing("mid", 1) as executor:
        result = small_race.run(items=range(50), executor=executor, rounds_in_flight=1)
        assert executor.submitted == plain.n_evaluations + 1
    assert result.to_records() == plain.to_records()
    assert result.failures == ()
    with Losing("mid", 2) as executor, pytest.raises(EvaluationError, match="not enough values to unpack"):
        small_race.run(items=range(50), executor=executor, rounds_in_flight=1)


@pytest.mark.parametrize("bad", [[(0, 3), (0, 1)], [(2, 0), (1, 4)], [(3, 2), (1, 1), (1, 2)]])
def test_of_several_failures_that_come_together_the_first_is_raised(bad: list[tuple[int, int]]) -> None:
    rows = bounded_rows(0)
    for place in bad:
        rows[place] = math.nan
    first = min(bad)
    pool: Executor = Inline()
    with pytest.raises(EvaluationError, match=re.escape(f"evaluate('{first[1]}', {first[0]})")):
        run(reads(rows), range(5), iter(range(400)), bounds=(0, 1), executor=pool, rounds_in_flight=4)
