"""What a game refuses, and that a refused call changes nothing."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from bestarm.algorithms import Game
from bestarm.testing.trial import Rows, Trial, outcome, refused, require, same

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
