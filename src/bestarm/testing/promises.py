"""Promises of algorithms and comparisons: how games are played, what is refused, what they say of themselves."""

import copy
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Algorithm, Game, Reason
from bestarm.comparisons import Comparison, Evidence, Goal
from bestarm.errors import BestarmError
from bestarm.record.settings import decode, encode

Rows = NDArray[np.float64]
MakeRows = Callable[[np.random.Generator, int, int], Rows]
Reference = Callable[[Rows], Sequence[tuple[int, int]]]
Relabel = Callable[[Any, Sequence[int]], Algorithm]


class ConformanceError(BestarmError, AssertionError):
    """A promise that an algorithm or a comparison does not keep."""


@dataclass(frozen=True)
class Trial:
    """An algorithm, and the rewards that its games are played on: those of all arms, of which a game asks for some."""

    algorithm: Algorithm
    rows: Rows
    seed: int
    relabel: Relabel
    reference: Reference | None

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.rows.shape[1])

    def start(self) -> Game:
        """A new game."""
        return self.algorithm.start(self.n_arms)

    def played(self, rows: Rows | None = None) -> Game:
        """A game after these rows, or after all."""
        game = self.start()
        game.play(self.rows if rows is None else rows)
        return game

    def midway(self) -> Game:
        """A game shortly before its end, when some arms are out and some are not."""
        return self.played(self.rows[: self.played().n_rounds * 9 // 10])

    def tell(self, game: Game) -> Iterator[NDArray[np.int64]]:
        """Tell a game the rest of the rows, one by one; yields the arms asked, after each round."""
        while not game.finished and game.n_rounds < len(self.rows):
            asked = game.ask()
            game.tell(self.rows[game.n_rounds, asked])
            yield asked

    def finish(self, game: Game) -> Game:
        """The game after it was told the rest of the rows."""
        for _ in self.tell(game):
            pass
        return game


def outcome(game: Game) -> dict[str, Any]:
    """All that a game says of its course."""
    begun = game.n_rounds > 0
    return {
        "reason": game.reason,
        "candidates": game.candidates,
        "eliminations": game.eliminations,
        "contradiction": game.contradiction,
        "n_rounds": game.n_rounds,
        "n_queries": game.n_queries,
        "counts": game.counts.tolist(),
        "means": game.means.tolist(),
        "best": game.best if begun else None,
        "regret_bound": game.regret_bound if begun else None,
    }


def require(kept: object, seen: str) -> None:
    """Say what was seen where a promise is not kept."""
    if not kept:
        raise ConformanceError(seen)


def require_same(game: Game, expected: dict[str, Any], when: str) -> None:
    """Require this outcome to the last digit: a printed number has all of them, and one NaN is as another."""
    for name, value in outcome(game).items():
        require(repr(value) == repr(expected[name]), f"{when} {name} is {value!r} instead of {expected[name]!r}")


def require_refused(what: str, call: Callable[[], object], error: type[Exception] = ValueError) -> None:
    """Require that a call raises this error."""
    try:
        call()
    except error:
        return
    raise ConformanceError(f"{what} is not refused")


def require_unmoved(game: Game, what: str, call: Callable[[], object], error: type[Exception] = ValueError) -> None:
    """Require that a call of a game raises this error and changes nothing."""
    before = outcome(game)
    require_refused(what, call, error)
    require_same(game, before, f"after a refusal of {what}")


def random_rewards(bounds: tuple[float, float] | None, clear: bool) -> MakeRows:
    """Rewards within the bounds, if there are any: one arm far ahead of all others, or arms close to each other."""
    low, high = bounds or (0.0, 1.0)

    def make(rng: np.random.Generator, n_rounds: int, n_arms: int) -> Rows:
        levels = rng.uniform(0.05, 0.1, n_arms) if clear else np.linspace(0.25, 0.75, n_arms)
        levels[-1] = 0.93 if clear else levels[-1]
        own, shared = rng.uniform(-1.0, 1.0, (n_rounds, n_arms)), rng.uniform(-1.0, 1.0, (n_rounds, 1))
        unit = rng.permutation(levels) + (0.02 if clear else 0.1) * (own + shared)
        return low + (high - low) * unit

    return make


def check_assumption(text: object) -> None:
    """It completes "This assumes that ...", so it is some words without a full stop."""
    words = isinstance(text, str) and len(text.split()) > 1 and not text.startswith("It assumes") and text[-1] != "."
    require(words, f'the assumption is {text!r}: it should complete the sentence "This assumes that ..."')


def check_value(settings: Any) -> None:
    """Refuse settings that are not a value: equal to their copies, hashable, printable, and frozen."""
    import pickle

    pickled = pickle.loads(pickle.dumps(settings))  # noqa: S301 - it loads what it made; no file is ever unpickled
    ways = {"pickled": pickled, "copied": copy.copy(settings), "deeply copied": copy.deepcopy(settings)}
    for way, other in ways.items():
        require(other == settings, f"{way}, {settings!r} is {other!r}")
        require(hash(other) == hash(settings), f"{way}, {settings!r} has another hash")
        require(repr(other) == repr(settings), f"{way}, {settings!r} is printed as {other!r}")
    for one in fields(settings) if is_dataclass(settings) else ():
        require(one.compare, f"{one.name} has compare=False: settings that differ in it would share what is computed")
    if is_dataclass(settings) and fields(settings):
        name = fields(settings)[0].name
        require_refused(f"a change of {name}", lambda: setattr(settings, name, getattr(settings, name)), AttributeError)


# --- how games are played ---------------------------------------------------------------------------------------------


REASONS = (None, Reason.DECIDED, Reason.WITHIN_EPSILON, Reason.ALL_ITEMS_USED, Reason.BUDGET)
REASON_TEXTS = ", ".join(map(repr, map(str, REASONS[1:])))


def telling_is_playing(trial: Trial) -> None:
    """One `ask` and `tell` per row is the same as to `play` the rows."""
    game = trial.start()
    rounds = sum(1 for _ in trial.tell(game))
    require(rounds == game.n_rounds, f"{rounds} rounds were told, {game.n_rounds} are counted")
    require_same(game, outcome(trial.played()), "told row by row and not played,")


def blocks_of_any_size_are_the_same(trial: Trial) -> None:
    """It does not matter in which blocks the rows come."""
    expected = outcome(trial.played())
    for size in (1, 7, 64):
        game = trial.start()
        while not game.finished and game.n_rounds < len(trial.rows):
            game.play(trial.rows[game.n_rounds :][:size])
        require_same(game, expected, f"played in blocks of {size},")


def the_same_rows_are_the_same_game(trial: Trial) -> None:
    """Nothing but the rewards decides: no clock, no dice of its own that are not seeded."""
    require_same(trial.played(), outcome(trial.played()), "played once more,")


def games_share_nothing(trial: Trial) -> None:
    """Two games with the same settings, played alternately, go as each would alone."""
    tables = (trial.rows, trial.rows[:, ::-1])
    alone = [outcome(trial.played(rows)) for rows in tables]
    games = [trial.start() for _ in tables]
    for start in range(0, len(trial.rows), 5):
        for game, rows in zip(games, tables, strict=True):
            if not game.finished:
                game.play(rows[start : start + 5])
    for game, expected in zip(games, alone, strict=True):
        require_same(game, expected, "beside another game")


def arms_have_no_order(trial: Trial) -> None:
    """Arms in another order give the same game, with other numbers (rewards without ties; rounding may differ)."""
    K, game = trial.n_arms, trial.played()
    for order in (np.arange(K)[::-1], np.random.default_rng(trial.seed).permutation(K)):
        other = trial.relabel(trial.algorithm, order.tolist()).start(K)
        other.play(trial.rows[:, order])
        seen = {(one.round, int(order[one.arm]), int(order[one.by])): one.margin for one in other.eliminations}
        expected = {(one.round, one.arm, one.by): one.margin for one in game.eliminations}
        where = f"with the arms in the order {order.tolist()}"
        require(sorted(seen) == sorted(expected), f"{where} eliminations are {seen} instead of {expected}")
        close = [math.isclose(seen[one], expected[one], rel_tol=1e-8, abs_tol=1e-12) for one in expected]
        require(all(close), f"{where} margins are {seen} instead of {expected}")
        answer = (sorted(order[list(other.candidates)].tolist()), int(order[other.best]), other.reason, other.n_rounds)
        before = (list(game.candidates), game.best, game.reason, game.n_rounds)
        require(answer == before, f"{where} candidates, best, reason and rounds are {answer} instead of {before}")
        require(np.array_equal(other.counts, game.counts[order]), f"{where} counts are {other.counts.tolist()}")
        means = np.allclose(other.means, game.means[order], rtol=1e-12, atol=1e-12, equal_nan=True)
        require(means, f"{where} means are {other.means} instead of {game.means[order]}")


def columns_not_asked_are_not_read(trial: Trial) -> None:
    """What the columns of arms that were not asked hold does not change the game."""
    expected = outcome(trial.played())
    for value in trial.start().bounds or (-1e100, 1e100):
        game, rows = trial.start(), np.full_like(trial.rows, value)
        for t, asked in enumerate(trial.tell(game)):
            rows[t, asked] = trial.rows[t, asked]
        require_same(trial.played(rows), expected, f"with {value} in all columns that were not asked")


def rows_after_the_end_are_left(trial: Trial) -> None:
    """`play` says how many rows it used, and uses no others."""
    game = trial.start()
    used = game.play(trial.rows)
    require(used == game.n_rounds, f"play says that it used {used} rows in {game.n_rounds} rounds")
    require(game.finished or used == len(trial.rows), f"play left rows of a game that goes on: it used {used}")
    other_end = np.concatenate([trial.rows[:used], trial.rows[used:, ::-1]])
    for rows in (trial.rows[:used], other_end):
        require_same(trial.played(rows), outcome(game), "with other rows after the end")


def every_query_counts_once(trial: Trial) -> None:
    """Counts, means and the leader are those of the rewards told, after every round."""
    game, K = trial.start(), trial.n_arms
    counts, sums = np.zeros(K, dtype=np.int64), np.zeros(K)
    require(np.isnan(game.means).all() and not game.counts.any(), "arms have been queried before the first round")
    for t, asked in enumerate(trial.tell(game)):
        counts[asked] += 1
        sums[asked] += trial.rows[t, asked]
        _check_statistics(game, t + 1, counts, sums)


def _check_statistics(game: Game, n_rounds: int, counts: NDArray[np.int64], sums: Rows) -> None:
    """Compare what a game says with what it was told. (Words are made only when they are needed: they take long.)"""
    seen, told = (game.n_rounds, game.n_queries), (n_rounds, int(counts.sum()))
    require(seen == told, f"rounds and queries are {seen}, those told {told}")
    if not np.array_equal(game.counts, counts):
        raise ConformanceError(f"counts are {game.counts}, those told {counts}")
    means, known, best, stay = game.means, counts > 0, game.best, game.candidates
    apart = np.abs(means[known] * counts[known] - sums[known]) > 1e-12 * np.abs(sums[known]) + 1e-14
    if apart.any() or not np.isnan(means[~known]).all():
        raise ConformanceError(f"means are {means} instead of {sums} / {counts}")
    leads = game.guarantee.criterion != "mean" or means[best] >= max(means[arm] for arm in stay if counts[arm])
    if best not in stay or not leads:
        raise ConformanceError(f"best is {best}, of candidates {stay} with the means {means}")


def arms_are_candidates_or_beaten(trial: Trial) -> None:
    """No arm is both; where the game `shrinks`, every arm is one of them. A game that has ended has a reason."""
    game, everybody = trial.start(), set(range(trial.n_arms))
    require(set(game.candidates) == everybody and not game.finished, "a new game is not open to all arms")
    for _ in trial.tell(game):
        stay, out = set(game.candidates), [one.arm for one in game.eliminations]
        require(stay and list(game.candidates) == sorted(stay), f"candidates are {game.candidates}")
        require(len(set(out)) == len(out) and not stay & set(out), f"{out} are out and {stay} are candidates")
        either = not game.shrinks or stay | set(out) == everybody
        require(either, f"{out} are out, {stay} are candidates: some arms are neither")
        require(game.finished == (game.reason is not None), f"finished is {game.finished}, reason {game.reason!r}")
        require(game.reason in REASONS, f"reason is {game.reason!r}, not None or one of {REASON_TEXTS}")
        require(game.reason != "decided" or len(stay) == 1, f"decided, with candidates {stay}")


def eliminations_say_when_and_by_whom(trial: Trial) -> None:
    """Eliminations come in order of rounds and arms, each by another arm; none is queried for longer than ``keep``."""
    game = trial.played()
    places = [(one.round, one.arm) for one in game.eliminations]
    require(places == sorted(places), f"rounds and arms of eliminations are {places}")
    keep = getattr(trial.algorithm, "keep", math.inf)
    for one in game.eliminations:
        require(1 <= one.round <= game.n_rounds, f"{one}, in a game of {game.n_rounds} rounds")
        require(one.by in range(trial.n_arms) and one.by != one.arm, f"{one}: by whom?")
        times = int(game.counts[one.arm])
        require(not game.shrinks or times <= keep * one.round + 1e-9, f"{one}, but it was queried {times} times")
    against = game.contradiction
    require(against is None or against.arm == game.best, f"the contradiction, {against}, is not of {game.best}")


def sets_shrink_where_they_should(trial: Trial) -> None:
    """Arms are asked in increasing order; where the game `shrinks`, all candidates are, and nobody comes back."""
    game = trial.start()
    before, standing = set(range(trial.n_arms)), set(range(trial.n_arms))
    for asked in trial.tell(game):
        arms = set(asked.tolist())
        require(arms and asked.tolist() == sorted(arms), f"asked are {asked.tolist()}")
        require(arms <= set(range(trial.n_arms)), f"asked are {asked.tolist()} of {trial.n_arms} arms")
        if game.shrinks:
            require(arms <= before, f"{arms} are asked after {before}")
            require(standing <= arms, f"{arms} are asked, though candidates are {standing}")
            require(set(game.candidates) <= standing, f"candidates are {game.candidates} after {standing}")
            before, standing = arms, set(game.candidates)


def asking_changes_nothing(trial: Trial) -> None:
    """Arms are asked again until they are told; the caller may change the array that it got."""
    game, untouched = trial.midway(), trial.midway()
    if game.finished:
        return
    before, asked = outcome(game), game.ask()
    expected = asked.tolist()
    asked[:] = -1
    for again in (game.ask().tolist(), game.next_arms().tolist()):
        require(again == expected, f"asked once more, the arms are {again} instead of {expected}")
    require_same(game, before, "after a question")
    rest = trial.rows[game.n_rounds :]
    require(game.play(rest) == untouched.play(rest), "a game goes on differently after a question")
    require_same(game, outcome(untouched), "played on after a question,")


def the_reference_agrees(trial: Trial) -> None:
    """Eliminations, arm and round, are those of the slow and obvious version, if there is one."""
    if trial.reference is not None:
        seen = [(one.arm, one.round) for one in trial.played().eliminations]
        expected = [(int(arm), int(t)) for arm, t in trial.reference(trial.rows)]
        require(seen == expected, f"(arm, round) of eliminations are {seen}, those of the reference {expected}")


# --- what they refuse -------------------------------------------------------------------------------------------------


NUMBERLESS = (float("nan"), float("inf"), float("-inf"))


def _bad_values(game: Game) -> list[float]:
    """What no reward can be."""
    outside = [] if game.bounds is None else np.nextafter(game.bounds, (-np.inf, np.inf)).tolist()
    return [*NUMBERLESS, *outside]


def _bad_rewards(game: Game, good: Rows) -> Iterator[tuple[str, Any]]:
    """What must not be told in the place of these rewards."""
    yield from {"too few": good[:-1], "too many": np.append(good, good[0]), "nothing": []}.items()
    yield from {"a row of a table": good[None, :], "a column": good[:, None], "one number": float(good[0])}.items()
    for value in _bad_values(game):
        for place in (0, good.size - 1):
            broken = good.copy()
            broken[place] = value
            yield f"{value!r} in place {place}", broken


def refused_rewards_change_nothing(trial: Trial) -> None:
    """Rewards that are not finite, out of bounds, or not one per arm asked; the arms stay asked."""
    game = trial.midway()
    if game.finished:
        return
    asked = game.ask()
    good = trial.rows[game.n_rounds, asked]
    for what, bad in _bad_rewards(game, good):
        require_unmoved(game, f"tell with {what}", partial(game.tell, bad))
        require(np.array_equal(game.next_arms(), asked), f"after {what} the next arms are no longer {asked}")
    game.tell(good)  # without a new question
    trial.finish(game)
    require_same(game, outcome(trial.finish(trial.midway())), "at the end, after refusals,")


def refused_rows_change_nothing(trial: Trial) -> None:
    """Rows with a bad number or a wrong shape are refused; an empty block changes nothing."""
    game = trial.midway()
    if game.finished:
        return
    rows = trial.rows[-5:]
    shapes: dict[str, Rows] = {"a column too few": rows[:, :-1], "one row": rows[0], "a third axis": rows[None]}
    for value in _bad_values(game):
        broken = rows.copy()
        broken[3, game.ask()[-1]] = value
        shapes[f"{value!r} in a later row"] = broken
    for what, bad in shapes.items():
        require_unmoved(game, f"play with {what}", partial(game.play, bad))
    before = outcome(game)
    require(game.play(rows[:0]) == 0, "play uses rows where there are none")
    require_same(game, before, "after no rows")
    trial.finish(game)
    require_same(game, outcome(trial.finish(trial.midway())), "at the end, after refusals,")


def calls_out_of_turn_are_refused(trial: Trial) -> None:
    """Nothing can be told before it is asked, nobody leads before the first round, and an end is an end."""
    game, row = trial.start(), trial.rows[0]
    require_unmoved(game, "tell before ask", partial(game.tell, row), RuntimeError)
    require_unmoved(game, "the best arm before the first round", lambda: game.best, RuntimeError)
    game.tell(row[game.ask()])
    if not game.finished:
        require_unmoved(game, "a second tell", partial(game.tell, row[: game.next_arms().size]), RuntimeError)
    end = trial.played()
    if end.finished:
        require_unmoved(end, "ask after the end", end.ask, RuntimeError)
        require_unmoved(end, "tell after the end", partial(end.tell, row), RuntimeError)
        require_unmoved(end, "play after the end", partial(end.play, trial.rows), RuntimeError)
        require_unmoved(end, "a disqualification after the end", partial(end.disqualify, end.best), RuntimeError)


def one_arm_is_no_game(trial: Trial) -> None:
    """There are at least two arms, and a whole number of them."""
    numbers: list[Any] = [1, 0, -3, 2.5, True]
    for n_arms in numbers:
        require_refused(f"a game of {n_arms!r} arms", partial(trial.algorithm.start, n_arms))


def rounds_ahead_are_taken_where_they_can_be(trial: Trial) -> None:
    """A game that `works_ahead` takes rounds that were asked before others were told; all take what they ask for."""
    game, other = trial.midway(), trial.midway()
    if game.finished:
        return
    free = game.works_ahead and not game.shrinks
    asked, row, n_queries = game.next_arms(), trial.rows[game.n_rounds], game.n_queries
    arms = np.arange(trial.n_arms) if free else asked
    game.tell(row[arms], arms.tolist())
    require(game.n_queries == n_queries + arms.size, f"{game.n_queries} queries, and {n_queries} before {arms}")
    if free:
        other.tell(row[arms[::-1]], arms[::-1].tolist())
        require_same(other, outcome(game), "told in another order of arms")
    if free and not game.finished:
        game.tell(row[asked], asked.tolist())
    trial.finish(game)


def rounds_of_no_arms_are_refused(trial: Trial) -> None:
    """A round with a repeated or unknown arm is refused, and asks for nothing new."""
    game = trial.midway()
    if game.finished:
        return
    asked = game.next_arms()
    bad = {"an arm twice": [*asked.tolist(), int(asked[0])], "no arms": [], "arm K": [trial.n_arms], "arm -1": [-1]}
    for what, arms in bad.items():
        values = trial.rows[0, np.zeros(len(arms), dtype=int)]
        require_unmoved(game, f"tell of {what}", partial(game.tell, values, arms))
    require_refused("tell after a refusal, but before ask,", partial(game.tell, trial.rows[0, asked]), RuntimeError)


def the_next_round_is_not_guessed(trial: Trial) -> None:
    """A game that does not work ahead, or whose sets only shrink, refuses other arms than those it asks for."""
    game = trial.midway()
    if game.finished or (game.works_ahead and not game.shrinks):
        return
    asked = set(game.ask().tolist())
    wrong = sorted(set(range(trial.n_arms)) - asked) or sorted(asked)[1:]
    require_unmoved(game, f"tell of {wrong}, not of {asked}", partial(game.tell, trial.rows[0, wrong], wrong))


def arms_are_disqualified_or_it_says_why_not(trial: Trial) -> None:
    """Where `no_disqualification` is None an arm can be taken out and stays out; elsewhere the call is refused."""
    game = trial.midway()
    if game.finished:
        return
    arm = game.candidates[0]
    require_unmoved(game, "the disqualification of an arm that is not there", partial(game.disqualify, trial.n_arms))
    if game.no_disqualification is not None and arm in game.next_arms():
        what = f"a disqualification ({game.no_disqualification})"
        require_unmoved(game, what, partial(game.disqualify, arm), TypeError)
    tell = partial(game.tell, trial.rows[0, game.next_arms()])
    require_refused("tell after a disqualification that was refused, but before ask,", tell, RuntimeError)
    if game.no_disqualification is not None:
        return
    game.disqualify(arm)
    for asked in trial.tell(game):
        require(arm not in asked, f"arm {arm} is asked after it was disqualified")
    out = {one.arm for one in game.eliminations}
    require(arm not in out | set(game.candidates), f"arm {arm} was disqualified, and is in {out} or {game.candidates}")
    require(out | set(game.candidates) | {arm} == set(range(trial.n_arms)), f"{out} are out, {game.candidates} stay")


# --- what they say ----------------------------------------------------------------------------------------------------


def _check_bounds_on_leads(game: Game) -> None:
    """The promise for a game as it stands."""
    pairs = [(a, b) for a in range(game.n_arms) for b in range(game.n_arms) if a != b]
    single = {pair: game.lead_bound(*pair) for pair in pairs}
    together = {pair: game.lead_bound(*pair, simultaneous=True) for pair in pairs}
    intervals, regret = game.intervals(), game.regret_bound
    known = {bound is not None for bound in (*single.values(), *together.values(), intervals)}
    known |= {game.lead(*pair) is not None for pair in pairs}
    known |= {regret is not None} if len(game.candidates) > 1 else set()
    require(len(known) == 1, f"after {game.n_rounds} rounds some bounds on leads are None and some are not")
    if intervals is None or regret is None:
        return
    require(regret >= 0, f"the regret bound is {regret}")
    require(np.all(intervals.low <= intervals.high), f"intervals are from {intervals.low} to {intervals.high}")
    for (a, b), bound in single.items():
        _, low, high = game.lead(a, b) or (math.nan, math.nan, math.nan)
        require(low == bound and low <= high, f"the lead of {a} over {b} is from {low} to {high}, its bound {bound}")
        low, alone = intervals.low[a, b], together[a, b]
        require(low == alone, f"the interval of {a} over {b} begins at {low}, the simultaneous bound is {alone}")


def bounds_on_leads_agree(trial: Trial) -> None:
    """`lead_bound`, `lead`, `intervals`, `regret_bound`: all or none, from below to above, the same numbers."""
    for game in (trial.played(trial.rows[:1]), trial.midway(), trial.played()):
        if game.n_rounds > 0:
            _check_bounds_on_leads(game)


def the_guarantee_is_stated(trial: Trial) -> None:
    """The game states what it assumes, and what its settings promise."""
    promise = trial.start().guarantee
    comparison = getattr(trial.algorithm, "comparison", None)
    for name, owner in [("epsilon", trial.algorithm), ("indifference_zone", trial.algorithm), ("pool", comparison)]:
        stated = getattr(promise, name)
        expected = getattr(owner, name, stated)
        require(stated == expected, f"the guarantee has {name} {stated}, the settings {expected}")
    if not math.isnan(promise.delta):
        check_assumption(promise.assumption)
        delta = getattr(trial.algorithm, "delta", promise.delta)
        require(0 < promise.delta < 1, f"the guarantee has delta {promise.delta}")
        require(promise.delta == delta, f"the guarantee has delta {promise.delta}, not {delta}")


def settings_are_values(trial: Trial) -> None:
    """Equal settings are the same settings, also after pickling, and play the same games."""
    check_value(trial.algorithm)
    kind = type(trial.algorithm).__name__
    require(repr(trial.algorithm).startswith(kind), f"{kind} is printed as {trial.algorithm!r}")
    other = copy.deepcopy(trial.algorithm).start(trial.n_arms)
    other.play(trial.rows)
    require_same(other, outcome(trial.played()), "by a copy of the settings")


def _all_of_bestarm(settings: Any) -> bool:
    """Whether settings, and those within them, are of classes that a race file can name."""
    inner = [getattr(settings, one.name) for one in fields(settings)] if is_dataclass(settings) else []
    own = type(settings).__module__.startswith("bestarm.")
    return own and all(_all_of_bestarm(part) for part in inner if is_dataclass(part))


def settings_fit_into_a_race_file(trial: Trial) -> None:
    """They are made of plain values; those of bestarm come back from them, those of others are refused."""
    plain = encode(trial.algorithm)
    text = json.dumps(plain, allow_nan=False)
    require(json.loads(text) == plain, f"{plain!r} is not the same as JSON: {text}")
    if not _all_of_bestarm(trial.algorithm):
        require_refused("settings of a class that is not of bestarm", lambda: decode(json.loads(text)))
        return
    again = decode(json.loads(text))
    require(again == trial.algorithm, f"from a race file comes {again!r} instead of {trial.algorithm!r}")


# --- comparisons ------------------------------------------------------------------------------------------------------

ROUNDS = np.concatenate([np.arange(1.0, 3000.0), np.geomspace(3000, 1e7, 100).round()])


def comparisons_say_what_they_are(comparison: Comparison) -> None:
    """Role, bounds, pool, epsilon and the assumption are stated, and there is evidence for a game."""
    require(comparison.role in ("pairs", "combinations"), f"role is {comparison.role!r}")
    low, high = comparison.bounds or (0.0, 1.0)
    require(math.isfinite(low) and math.isfinite(high) and low < high, f"bounds are {comparison.bounds!r}")
    pool = comparison.pool
    require(pool is None or (isinstance(pool, int) and pool >= 2), f"pool is {pool!r}")
    require(isinstance(comparison.supports_epsilon, bool), f"supports_epsilon is {comparison.supports_epsilon!r}")
    check_assumption(comparison.assumption)
    evidence = comparison.evidence(3, Goal(0.1))
    require(isinstance(evidence, Evidence) and evidence.board.arms.size == 3, f"evidence is {evidence!r}")


def comparisons_adapt_to_a_race(comparison: Comparison) -> None:
    """What a race knows about its scores and items is taken over or left, never mixed up."""
    bounds, pool = (-3.0, 5.0), 40
    adapted = comparison.adapted(bounds, pool)
    require(adapted.bounds in (bounds, comparison.bounds), f"bounds are {adapted.bounds!r} after adapted({bounds!r})")
    require(adapted.pool in (pool, comparison.pool), f"pool is {adapted.pool!r} after adapted(..., {pool})")
    require(adapted.role == comparison.role, f"role is {adapted.role!r}, it was {comparison.role!r}")
    unchanged = comparison.adapted(None, None)
    require(unchanged == comparison, f"adapted(None, None) is {unchanged!r}, not {comparison!r}")


def comparisons_are_values(comparison: Comparison) -> None:
    """What is computed for one is shared with its equals: they must have equal hashes, and not change."""
    check_value(comparison)


Slopes = tuple[NDArray[np.float64], NDArray[np.float64]]


def _boundaries(comparison: Any) -> Iterator[tuple[str, int, float, Slopes]]:
    """Slopes and offsets of many rounds, for some numbers of arms and levels, where the comparison is a boundary."""
    for n_arms, delta in ((2, 0.9), (3, 0.1), (10, 1e-12)) if hasattr(comparison, "boundary") else ():
        rounds = ROUNDS.copy()
        slopes, offsets = comparison.boundary(rounds, n_arms, delta)
        require(np.array_equal(rounds, ROUNDS), "boundary changes the rounds that it is asked for")
        yield f"for {n_arms} arms and delta {delta}", n_arms, delta, (slopes, offsets)


def boundaries_are_numbers(comparison: Comparison) -> None:
    """One slope and one offset per round, never NaN: an infinite slope beats nobody, a NaN is nothing."""
    for where, _, _, (slopes, offsets) in _boundaries(comparison):
        shapes = np.shape(slopes), np.shape(offsets)
        require(shapes == (ROUNDS.shape, ROUNDS.shape), f"{where} slopes and offsets have the shapes {shapes}")
        require(not np.isnan(slopes).any() and not np.isnan(offsets).any(), f"{where} there is a NaN")
        require(np.all(slopes >= 0), f"{where} the smallest slope is {slopes.min()}")
        require(np.isfinite(slopes).any(), f"{where} no slope is finite: nobody is ever beaten")


def boundaries_only_shrink(comparison: Comparison) -> None:
    """What is finite stays finite and gets no larger (rounding aside): looking at some rounds only rests on it."""
    for where, _, _, parts in _boundaries(comparison):
        first = int(np.argmax(np.isfinite(parts[0])))
        for name, values in zip(("slope", "offset"), parts, strict=True):
            later = values[first:]
            require(np.isfinite(later).all(), f"{where} the {name} is not finite after round {ROUNDS[first]:.0f}")
            grown = np.flatnonzero(later[1:] > later[:-1] + 1e-12 * np.abs(later[:-1]))
            places = ROUNDS[first + 1 :][grown][:3]
            require(grown.size == 0, f"{where} the {name} grows in round {', '.join(f'{t:.0f}' for t in places)}")


def boundaries_grow_as_delta_shrinks(comparison: Any) -> None:
    """A smaller delta asks for at least as much in each round (rounding aside), and for more in some."""
    for n_arms in (2, 10) if hasattr(comparison, "boundary") else ():
        for delta, smaller in ((0.9, 0.1), (0.1, 1e-12)):
            where = f"for {n_arms} arms"
            before, after = (comparison.boundary(ROUNDS.copy(), n_arms, level) for level in (delta, smaller))
            used, grown = np.isfinite(after[0]), bool(np.any(np.isfinite(before[0]) & ~np.isfinite(after[0])))
            for name, values, larger in zip(("slope", "offset"), before, after, strict=True):
                slack = 1e-12 * np.abs(larger[used])
                shrunk = np.flatnonzero(~(larger[used] >= values[used] - slack))
                places = ", ".join(f"{t:.0f}" for t in ROUNDS[used][shrunk][:3])
                levels = f"for delta {smaller} than for {delta}"
                require(shrunk.size == 0, f"{where} the {name} is smaller {levels} in round {places}")
                grown |= bool(np.any(larger[used] > values[used] + slack))
            require(grown, f"{where} the boundary is the same for delta {delta} and {smaller}")


def boundaries_do_not_depend_on_their_company(comparison: Any) -> None:
    """The boundary of a round is the same, whatever other rounds are computed with it, and however often."""
    for where, n_arms, delta, whole in _boundaries(comparison):
        for part in (slice(None), slice(0, 1), slice(5, 60), slice(2040, 2060), slice(3000, None)):
            again = comparison.boundary(ROUNDS[part].copy(), n_arms, delta)
            for name, values, expected in zip(("slopes", "offsets"), again, whole, strict=True):
                close = np.allclose(values, expected[part], rtol=1e-12, atol=0.0)
                rounds = f"rounds {ROUNDS[part][0]:.0f} and later"
                require(close, f"{where} {name} of {rounds} differ when computed by themselves")
