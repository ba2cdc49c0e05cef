"""Random arguments to all public functions and classes: refused in one sentence, or an ordinary result.

What is public, and which parameters it has, is read off the package; `USUAL` has values that work, by parameter.
"""

import inspect
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from attacks import bad_values
from attacks.judging import REFUSALS, Fault, OwnError, judge
from attacks.pool import SOME, Case, wait_for_nothing, warm_up
from bestarm import algorithms, arms, comparisons, complexity
from bestarm.racing import Record

Note = Callable[[str], None]
Values = dict[str, tuple[Any, ...]]
ENOUGH = 400  # evaluations after which the user presses Ctrl-C
LEVEL = {"a": 0.2, "b": 0.5, "c": 0.7}
SCORES = np.random.default_rng(3).random((30, 3))
USUAL: Values = {
    "algorithm": (algorithms.PairwiseBAI(0.1), algorithms.LUCB(0.05, variances=0.02), None),
    "arms": (["a", "b", "c"], ("a", "b"), {"a": "a", "b": "c"}),
    "bounds": ((0, 1), (0, 1), (-1.0, 2.0), None),
    "commands": (["true", "nowhere-x"], {"a": "true", "b": ["true"]}),
    "comparison": (comparisons.Betting(), comparisons.StudentMixture(), comparisons.Wins(), None),
    "correlation": (0.5, 0.0),
    "covariance": (np.eye(3), np.eye(2)),
    "criterion": ("mean", "wins", None),
    "delta": (0.05, 0.4),
    "epsilon": (0.1, None),
    "folder": (None, "."),
    "frame": (SCORES, {"x": [0.1, 0.2, 0.4], "y": [0.3, 0.9, 0.5]}),
    "function": (len, None, "x", 5, lambda arm, item: 0.5),
    "groups": (None, lambda item: str(item)[:1]),
    "indifference_zone": (0.05, None),
    "items": (range(40), [1, 2, 3], None, ["x", "y", "z"]),
    "jointly": (True, False),
    "lower_is_better": (True, False),
    "max_evaluations": (9, 60, None),
    "means": (np.array([0.2, 0.5, 0.7]), [0.1, 0.4]),
    "min_rounds": (2, 12, None),
    "missing": ("raise", "worst", "drop"),
    "n_arms": (2, 5),
    "n_clusters": (2,),
    "n_items": (40, None),
    "on_error": ("raise", "worst", "disqualify"),
    "path": ("nowhere.csv", ".", "x.sqlite"),
    "pilot": (SCORES,),
    "repetitions": (10,),
    "replace": (True, False, None),
    "retries": (0, 0, 1),
    "rounds_in_flight": (1, 3, None),
    "score": ("time", "stdout"),
    "scores": (SCORES,),
    "seed": (0, 5),
    "shuffle_arms": (True, False),
    "target": ("items", "population", None),
    "timeout": (5.0, 1),
    "variances": ([0.2, 0.1, 0.0], 0.1),
}
TABLE = "bounds criterion delta lower_is_better epsilon indifference_zone target max_evaluations seed comparison"
RACE = f"{TABLE} algorithm items replace groups rounds_in_flight on_error min_rounds"
PARTS = {comparisons: "evidence", algorithms: "start"}  # what public classes have that are not to be derived from
PROGRAMS = "score timeout folder retries items delta"
OF_RESULT: Values = {"name": ("lead", "getitem", "json"), "value": ("a", "b", "x")}
OF_TABLE: Values = {"arms": (("a", "b", "c"),), "items": (tuple(map(str, range(30))),), "scores": (SCORES,)}
OF_RECORD: Values = {"rounds": ([(1, "x", 2)], []), "scores": ([(1, 0, 0.5, None), (1, 1, 0.5, None)], [])}
COSTLY = ("repetitions", "n_arms", "n_items", "n", "retries", "n_rounds", "pool", "max_rounds", "sparsity", "size")


@dataclass(frozen=True)
class Target:
    """Something to call: arguments that it needs, those that it may have, and errors it may raise beside refusals."""

    name: str
    call: Callable[..., Any]
    given: Values
    optional: Values
    weight: int = 5
    errors: tuple[type[BaseException], ...] = ()
    fixed: tuple[str, ...] = ()  # arguments that are left as they are


def plain(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that has no use for random numbers."""
    return lambda luck, **options: call(**options)


def usual(names: str, **others: tuple[Any, ...]) -> Values:
    """Values that work, by parameter."""
    return {name: USUAL[name] for name in names.split()} | others


def evaluator(luck: random.Random) -> Callable[[Any, Any], Any]:
    """A function to race, sometimes a bad one; after a while the user presses Ctrl-C."""
    calls, bad = count(), luck.choice((0.0, 0.0, 0.05, 0.5))

    def evaluate(arm: Any, item: Any) -> Any:
        if next(calls) > ENOUGH:
            raise KeyboardInterrupt
        if luck.random() < bad:
            strange = bad_values.value(luck)
            if isinstance(strange, Exception):
                raise strange
            return strange
        return LEVEL.get(arm, 0.4) if isinstance(arm, str) else 0.5

    return evaluate


def race_told(luck: random.Random, **options: Any) -> Any:
    """A race by ask and tell, told some things that are wrong."""
    with bestarm.Race(**options) as race:
        for _ in range(luck.randint(0, 6)):
            for todo in [] if race.finished else race.ask():
                scores: Any = {arm: LEVEL.get(arm, 0.5) if isinstance(arm, str) else 0.5 for arm in todo.arms}
                if luck.random() < 0.3:
                    one = {next(iter(scores)): bad_values.value(luck)}
                    scores = luck.choice(({**scores, "x": 1}, {}, bad_values.value(luck), one))
                which: Any = todo if luck.random() < 0.9 else bad_values.value(luck)
                race.tell(which, scores)
        return race.result()


def game_told(luck: random.Random, algorithm: Any, n_arms: Any) -> Any:
    """A game by ask and tell."""
    game = algorithm.start(n_arms)
    for _ in range(luck.randint(0, 8)):
        what = luck.randrange(8)
        if game.finished:
            break
        if what == 0:
            game.play(bad_values.value(luck) if luck.random() < 0.5 else SCORES[:, :n_arms])
        elif what == 1:
            game.disqualify(bad_values.value(luck))
        elif what == 2:
            game.tell(bad_values.value(luck), arms=bad_values.value(luck))
        else:
            rewards = SCORES[game.n_rounds % 30][game.ask() % 3]
            game.tell(rewards if luck.random() < 0.7 else bad_values.value(luck))
    return game.means, game.candidates, game.intervals()


def of_result(folder: Path, luck: random.Random, name: Any, value: Any) -> Any:
    """The methods of a result that take something; what they write goes into a folder."""
    result = bestarm.race_table(SCORES, arms=["a", "b", "c"])
    if name == "lead":
        return result.lead(value, luck.choice(("a", bad_values.value(luck))))
    if name == "getitem":
        return result[value]
    text = value if isinstance(value, str) else bad_values.text(luck)
    where = folder / "written" / text.lstrip("/")
    if not where.is_relative_to(folder / "written") or ".." in where.parts:
        where = folder / "written" / "x"
    return result.to_json(where) if name == "json" or luck.random() < 0.9 else result.to_html(where)


def by_signature(name: str, call: Callable[..., Any], after: Callable[[Any], Any] = lambda made: made) -> Target:
    """A function or class: its parameters with usual values, or with their defaults."""
    given, optional = {}, {}
    for part in inspect.signature(call).parameters.values():
        if part.kind in (part.VAR_POSITIONAL, part.VAR_KEYWORD):
            continue
        if part.default is part.empty:
            given[part.name] = USUAL.get(part.name, (0.1,))
        else:
            optional[part.name] = (part.default,)
    return Target(name, lambda luck, **options: after(call(**options)), given, optional, weight=2)


def targets(folder: Path) -> list[Target]:
    """All that is public, with arguments that work."""
    stores = (str(folder / "written" / "r.sqlite"), folder / "written" / "s.sqlite")
    few = {"max_evaluations": (9,)}  # nobody presses Ctrl-C, and programs are honest work
    law = {"arms": (arms.equicorrelated_arms(3), arms.clustered_arms(4, 2))}

    commands = plain(partial(bestarm.race_commands, progress=False))

    def race(luck: random.Random, function: Any = None, **options: Any) -> Any:
        return bestarm.race(function or evaluator(luck), progress=False, **options)

    found = [
        Target("race", race, usual("arms"), usual(f"{RACE} jointly retries shuffle_arms"), 40),
        Target("race of", race, usual("arms function", **few), usual(RACE), fixed=("max_evaluations",)),
        Target("race in a store", race, usual("arms", store=stores), usual(RACE), 15),
        Target("Race", race_told, usual("arms"), usual(RACE), 40, (RuntimeError,)),
        Target("race_table", plain(bestarm.race_table), usual("frame"), usual(f"{TABLE} missing"), 40),
        Target("race_commands", commands, usual("commands", **few), usual(PROGRAMS), fixed=("max_evaluations",)),
        Target("plan", plain(bestarm.plan), usual("pilot repetitions"), usual(f"n_items {TABLE}"), 1),
        Target("simulate", plain(bestarm.simulate), usual("algorithm repetitions", **law), usual("seed")),
        Target("game", game_told, {"algorithm": SOME, "n_arms": (2, 3)}, {}, 5, (RuntimeError,), ("algorithm",)),
        Target("result", partial(of_result, folder), OF_RESULT, {}, errors=(KeyError, OSError)),
        by_signature("read_table", bestarm.read_table),
        by_signature("load_result", bestarm.load_result),
        replace(by_signature("ScoreTable", bestarm.ScoreTable), given=OF_TABLE),
        replace(by_signature("Record.of_rows", Record.of_rows), given=OF_RECORD),
    ]
    for module in (arms, comparisons, algorithms, complexity):
        for name in module.__all__:
            thing = getattr(module, name)
            part = PARTS.get(module, "__call__")
            if hasattr(thing, part) and not getattr(thing, "_is_protocol", False) and not inspect.isabstract(thing):
                after = (lambda made: made.start(3)) if part == "start" else (lambda made: made)
                one = by_signature(f"{module.__name__}.{name}", thing, after)
                of_a_law = "arms" in one.given and module is complexity
                found.append(replace(one, given=one.given | law) if of_a_law else one)
    return found


def prepare(folder: Path) -> Case:
    """Cases of one call each."""
    warnings.simplefilter("ignore")
    wait_for_nothing()
    (folder / "written").mkdir()
    all_of_them = targets(folder)
    weights = [target.weight for target in all_of_them]

    def case(luck: random.Random, note: Note) -> str:
        (target,) = luck.choices(all_of_them, weights)
        return called(target, luck, note, folder)

    warm_up(case, 60)
    return case


def called(target: Target, luck: random.Random, note: Note, folder: Path) -> str:
    """Call it with some arguments replaced by what nobody expects."""
    given = {name: luck.choice(values) for name, values in target.given.items()}
    given |= {name: luck.choice(values) for name, values in target.optional.items() if luck.random() < 0.1}
    free = [name for name in given if name not in target.fixed]
    for name in luck.sample(free, min(len(free), luck.choice((0, 1, 1, 1, 2)))):
        given[name] = bad_values.value(luck, big=name not in COSTLY)
    if luck.random() < 0.02:
        given[luck.choice(("foo", "Delta", "arm", "bound"))] = 1
    note(f"{target.name} {bad_values.shown(given)}")
    for file in (folder / "written").glob("*.sqlite*"):
        file.unlink()
    try:
        return spoken(target.call(luck, **given))
    except KeyboardInterrupt:
        return "interrupted"
    except Exception as error:
        return judge(error, (*REFUSALS, *target.errors))


def spoken(result: Any) -> str:
    """A result must be able to speak."""
    if not isinstance(result, bestarm.RaceResult):
        return "done"
    try:
        str(result)
        result.to_json()
        _ = result.regret_bound, result.for_population, result.records, result.verdict
    except OwnError:
        raise
    except Exception as error:
        raise Fault(f"a result cannot be shown: {type(error).__name__}: {str(error)[:200]}") from error
    return f"raced {result.reason}"
