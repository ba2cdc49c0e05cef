"""What games and settings say: bounds that agree, a guarantee in words, settings that are values."""

import copy
import json
import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from bestarm.algorithms import Game
from bestarm.testing.trial import Trial, outcome, refused, require, same


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
    from bestarm.inputs.plain import decode, encode

    plain = encode(trial.algorithm)
    text = json.dumps(plain, allow_nan=False)
    require(json.loads(text) == plain, f"{plain!r} is not the same as JSON: {text}")
    if not _all_of_bestarm(trial.algorithm):
        refused("settings of a class that is not of bestarm", lambda: decode(json.loads(text)))
        return
    again = decode(json.loads(text))
    require(again == trial.algorithm, f"from a race file comes {again!r} instead of {trial.algorithm!r}")
