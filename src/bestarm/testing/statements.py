"""Promises about what games say and what they refuse."""

import copy
import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestarm.algorithms import Game
from bestarm.comparisons import Comparison, Evidence, Goal
from bestarm.testing.games import Rows, Trial, outcome, refused, require, same


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


def check_assumption(text: object) -> None:
    """It completes "This assumes that ...", so it is some words without a full stop."""
    words = isinstance(text, str) and len(text.split()) > 1 and not text.startswith("It assumes") and text[-1] != "."
    require(words, f'the assumption is {text!r}: it should complete the sentence "This assumes that ..."')


def the_guarantee_is_stated(trial: Trial) -> None:
    """The game states what it assumes, and what its settings promise."""
    promise = trial.start().guarantee
    if not math.isnan(promise.delta):
        check_assumption(promise.assumption)
    require(math.isnan(promise.delta) or 0 < promise.delta < 1, f"the guarantee has delta {promise.delta}")
    comparison = getattr(trial.algorithm, "comparison", None)
    for name, owner in [("epsilon", trial.algorithm), ("indifference_zone", trial.algorithm), ("pool", comparison)]:
        stated = getattr(promise, name)
        expected = getattr(owner, name, stated)
        require(stated == expected, f"the guarantee has {name} {stated}, the settings {expected}")
    delta = getattr(trial.algorithm, "delta", promise.delta)
    require(
        math.isnan(promise.delta) or promise.delta == delta, f"the guarantee has delta {promise.delta}, not {delta}"
    )


def check_value(settings: Any) -> None:
    """Refuse settings that are not a value: equal to their copies, hashable, printable, and frozen."""
    import pickle

    pickled = pickle.loads(pickle.dumps(settings))  # noqa: S301 - it loads what it made; no file is ever unpickled
    ways = {"pickled": pickled, "copied": copy.copy(settings), "deeply copied": copy.deepcopy(settings)}
    for way, other in ways.items():
        require(other == settings, f"{way}, {settings!r} is {other!r}")
        require(hash(other) == hash(settings), f"{way}, {settings!r} has another hash")
        require(repr(other) == repr(settings), f"{way}, {settings!r} is printed as {other!r}")
    if is_dataclass(settings) and fields(settings):
        name = fields(settings)[0].name
        refused(f"a change of {name}", lambda: setattr(settings, name, getattr(settings, name)), AttributeError)


def settings_are_values(trial: Trial) -> None:
    """Equal settings are the same settings, also after pickling, and play the same games."""
    check_value(trial.algorithm)
    kind = type(trial.algorithm).__name__
    require(repr(trial.algorithm).startswith(kind), f"{kind} is printed as {trial.algorithm!r}")
    other = copy.deepcopy(trial.algorithm).start(trial.n_arms)
    other.play(trial.rows)
    same(other, outcome(trial.played()), "by a copy of the settings")


def _all_of_bestarm(settings: Any) -> bool:
    """Whether settings, and those within them, are of classes that a race file can name."""
    inner = [getattr(settings, one.name) for one in fields(settings)] if is_dataclass(settings) else []
    own = type(settings).__module__.startswith("bestarm.")
    return own and all(_all_of_bestarm(part) for part in inner if is_dataclass(part))


def settings_fit_into_a_race_file(trial: Trial) -> None:
    """They are made of plain values; those of bestarm come back from them, those of others are refused."""
    from bestarm.record.settings import decode, encode

    plain = encode(trial.algorithm)
    text = json.dumps(plain, allow_nan=False)
    require(json.loads(text) == plain, f"{plain!r} is not the same as JSON: {text}")
    if not _all_of_bestarm(trial.algorithm):
        refused("settings of a class that is not of bestarm", lambda: decode(json.loads(text)))
        return
    again = decode(json.loads(text))
    require(again == trial.algorithm, f"from a race file comes {again!r} instead of {trial.algorithm!r}")


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
    before, asked = outcome(game), game.ask()
    good = trial.rows[game.n_rounds, asked]
    for what, bad in _bad_rewards(game, good):
        refused(f"tell with {what}", partial(game.tell, bad))
        same(game, before, f"after a refusal of {what}")
        require(np.array_equal(game.next_arms(), asked), f"after {what} the next arms are no longer {asked}")
    game.tell(good)  # without a new question
    trial.finish(game)
    same(game, outcome(trial.finish(trial.midway())), "at the end, after refusals,")


def refused_rows_change_nothing(trial: Trial) -> None:
    """Rows with a bad number or a wrong shape are refused; an empty block changes nothing."""
    game = trial.midway()
    if game.finished:
        return
    before, rows = outcome(game), trial.rows[-5:]
    shapes: dict[str, Rows] = {"a column too few": rows[:, :-1], "one row": rows[0], "a third axis": rows[None]}
    for value in _bad_values(game):
        broken = rows.copy()
        broken[3, game.ask()[-1]] = value
        shapes[f"{value!r} in a later row"] = broken
    for what, bad in shapes.items():
        refused(f"play with {what}", partial(game.play, bad))
        same(game, before, f"after a refusal of {what}")
    require(game.play(rows[:0]) == 0, "play uses rows where there are none")
    same(game, before, "after no rows")
    trial.finish(game)
    same(game, outcome(trial.finish(trial.midway())), "at the end, after refusals,")


def calls_out_of_turn_are_refused(trial: Trial) -> None:
    """Nothing can be told before it is asked, nobody leads before the first round, and an end is an end."""
    game, row = trial.start(), trial.rows[0]
    before = outcome(game)
    refused("tell before ask", partial(game.tell, row), RuntimeError)
    refused("the best arm before the first round", lambda: game.best, RuntimeError)
    same(game, before, "after calls out of turn")
    game.tell(row[game.ask()])
    if not game.finished:
        refused("a second tell", partial(game.tell, row[: game.next_arms().size]), RuntimeError)
    game = trial.played()
    if game.finished:
        end = outcome(game)
        refused("ask after the end", game.ask, RuntimeError)
        refused("tell after the end", partial(game.tell, row), RuntimeError)
        refused("play after the end", partial(game.play, trial.rows), RuntimeError)
        refused("a disqualification after the end", partial(game.disqualify, game.best), RuntimeError)
        same(game, end, "after the end")


def one_arm_is_no_game(trial: Trial) -> None:
    """There are at least two arms, and a whole number of them."""
    numbers: list[Any] = [1, 0, -3, 2.5, True]
    for n_arms in numbers:
        refused(f"a game of {n_arms!r} arms", partial(trial.algorithm.start, n_arms))


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
        same(other, outcome(game), "told in another order of arms")
    if free and not game.finished:
        game.tell(row[asked], asked.tolist())
    trial.finish(game)


def rounds_of_no_arms_are_refused(trial: Trial) -> None:
    """A round with a repeated or unknown arm is refused, and asks for nothing new."""
    game = trial.midway()
    if game.finished:
        return
    before, asked = outcome(game), game.next_arms()
    bad = {"an arm twice": [*asked.tolist(), int(asked[0])], "no arms": [], "arm K": [trial.n_arms], "arm -1": [-1]}
    for what, arms in bad.items():
        refused(f"tell of {what}", partial(game.tell, trial.rows[0, np.zeros(len(arms), dtype=int)], arms))
        same(game, before, f"after a refusal of {what}")
    refused("tell after a refusal, but before ask,", partial(game.tell, trial.rows[0, asked]), RuntimeError)


def the_next_round_is_not_guessed(trial: Trial) -> None:
    """A game that does not work ahead, or whose sets only shrink, refuses other arms than those it asks for."""
    game = trial.midway()
    if game.finished or (game.works_ahead and not game.shrinks):
        return
    before, asked = outcome(game), set(game.ask().tolist())
    wrong = sorted(set(range(trial.n_arms)) - asked) or sorted(asked)[1:]
    refused(f"tell of {wrong}, not of {asked}", partial(game.tell, trial.rows[0, wrong], wrong))
    same(game, before, "after a refusal of other arms")


def arms_are_disqualified_or_it_says_why_not(trial: Trial) -> None:
    """Where `no_disqualification` is None an arm can be taken out and stays out; elsewhere the call is refused."""
    game = trial.midway()
    if game.finished:
        return
    before, arm = outcome(game), game.candidates[0]
    refused("the disqualification of an arm that is not there", partial(game.disqualify, trial.n_arms))
    if game.no_disqualification is not None and arm in game.next_arms():
        refused(f"a disqualification ({game.no_disqualification})", partial(game.disqualify, arm), TypeError)
    same(game, before, "after a disqualification that was refused")
    tell = partial(game.tell, trial.rows[0, game.next_arms()])
    refused("tell after a disqualification that was refused, but before ask,", tell, RuntimeError)
    if game.no_disqualification is not None:
        return
    game.disqualify(arm)
    for asked in trial.tell(game):
        require(arm not in asked, f"arm {arm} is asked after it was disqualified")
    out = {one.arm for one in game.eliminations}
    require(arm not in out | set(game.candidates), f"arm {arm} was disqualified, and is in {out} or {game.candidates}")
    require(out | set(game.candidates) | {arm} == set(range(trial.n_arms)), f"{out} are out, {game.candidates} stay")


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


def boundaries_do_not_depend_on_their_company(comparison: Any) -> None:
    """The boundary of a round is the same, whatever other rounds are computed with it, and however often."""
    for where, n_arms, delta, whole in _boundaries(comparison):
        for part in (slice(None), slice(0, 1), slice(5, 60), slice(2040, 2060), slice(3000, None)):
            again = comparison.boundary(ROUNDS[part].copy(), n_arms, delta)
            for name, values, expected in zip(("slopes", "offsets"), again, whole, strict=True):
                close = np.allclose(values, expected[part], rtol=1e-12, atol=0.0)
                require(
                    close,
                    f"{where} {name} of rounds {ROUNDS[part][0]:.0f} and later differ when computed by themselves",
                )
