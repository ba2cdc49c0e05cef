"""All that is public, with arguments that work: what the attack by calls starts from."""

import inspect
import random
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import bestarm
from attacks import bad_values
from bestarm import algorithms, arms, comparisons, complexity
from bestarm.racing import Record

ENOUGH = 400  # evaluations after which the user presses Ctrl-C
LEVEL = {"a": 0.2, "b": 0.5, "c": 0.7}
OPTIONS: dict[str, tuple[Any, ...]] = {
    "items": (range(40), [1, 2, 3], None, ["x", "y", "z"]),
    "delta": (0.05, 0.4, None),
    "bounds": ((0, 1), (0, 1), (-1.0, 2.0), None),
    "lower_is_better": (True, False),
    "criterion": ("mean", "wins", None),
    "epsilon": (0.1, None),
    "indifference_zone": (0.05, None),
    "target": ("items", "population", None),
    "replace": (True, False, None),
    "groups": (None, lambda item: str(item)[:1]),
    "max_evaluations": (9, 60, None),
    "rounds_in_flight": (1, 3, None),
    "on_error": ("raise", "worst", "disqualify"),
    "seed": (0, 5),
    "comparison": (comparisons.Betting(), comparisons.StudentMixture(), comparisons.Wins(), None),
    "algorithm": (algorithms.PairwiseBAI(0.1), algorithms.LUCB(0.05, variances=0.02), None),
    "min_rounds": (2, 12, None),
}
SCORES = np.random.default_rng(3).random((30, 3))


@dataclass(frozen=True)
class Target:
    """Something to call: its usual arguments, and which errors it may raise beside refusals."""

    name: str
    call: Callable[..., Any]
    given: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    optional: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    errors: tuple[type[BaseException], ...] = ()
    fixed: tuple[str, ...] = ()  # arguments that are left as they are


def evaluator(luck: random.Random) -> Callable[[Any, Any], Any]:
    """A function to race, sometimes a bad one; after a while the user presses Ctrl-C."""
    calls = count()
    bad = luck.choice((0.0, 0.0, 0.05, 0.5))

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
            if race.finished:
                break
            for todo in race.ask():
                scores: Any = {arm: LEVEL.get(arm, 0.5) if isinstance(arm, str) else 0.5 for arm in todo.arms}
                if luck.random() < 0.3:
                    scores = luck.choice(
                        ({**scores, "x": 1}, {}, bad_values.value(luck), {next(iter(scores)): bad_values.value(luck)})
                    )
                which: Any = todo if luck.random() < 0.9 else bad_values.value(luck)
                race.tell(which, scores)
        return race.result()


def game_told(luck: random.Random, algorithm: Any, n_arms: Any) -> Any:
    """A game by ask and tell."""
    game = algorithm.start(n_arms)
    for _ in range(luck.randint(0, 8)):
        if game.finished:
            break
        what = luck.randrange(8)
        if what == 0:
            game.play(bad_values.value(luck) if luck.random() < 0.5 else SCORES[:, :n_arms])
        elif what == 1:
            game.disqualify(bad_values.value(luck))
        elif what == 2:
            game.tell(bad_values.value(luck), arms=bad_values.value(luck))
        else:
            asked = game.ask()
            game.tell(SCORES[game.n_rounds % 30][asked % 3] if luck.random() < 0.7 else bad_values.value(luck))
    return game.means, game.candidates, game.intervals()


def of_result(luck: random.Random, folder: Path, name: Any, value: Any) -> Any:
    """The methods of a result that take something."""
    result = bestarm.race_table(SCORES, arms=["a", "b", "c"])
    if name == "lead":
        return result.lead(value, luck.choice(("a", bad_values.value(luck))))
    if name == "getitem":
        return result[value]
    where = (
        value if isinstance(value, str | Path) and luck.random() < 0.5 else folder / "written" / bad_values.text(luck)
    )
    if isinstance(where, str | Path) and Path(where).is_absolute() and not Path(where).is_relative_to(folder):
        where = folder / "written" / "x"
    return result.to_json(where) if name == "json" or luck.random() < 0.9 else result.to_html(where)


def targets(folder: Path) -> list[Target]:
    """All that is public, with arguments that work."""
    names: dict[str, tuple[Any, ...]] = {"arms": (["a", "b", "c"], ("a", "b"), {"a": "a", "b": "c"})}
    table = {"frame": (SCORES, {"x": [0.1, 0.2, 0.4], "y": [0.3, 0.9, 0.5]})}
    table_options = {k: v for k, v in OPTIONS.items() if k in ("bounds", "criterion", "delta", "lower_is_better", "epsilon", "indifference_zone", "target", "max_evaluations", "seed", "comparison", "algorithm", "min_rounds")}  # fmt: skip
    vector = (np.array([0.2, 0.5, 0.7]), [0.1, 0.4])
    found = [
        Target(
            "race",
            lambda luck, **o: bestarm.race(evaluator(luck), progress=False, **o),
            names,
            OPTIONS | {"jointly": (True, False), "retries": (0, 0, 1), "shuffle_arms": (True, False)},
        ),
        Target(
            "race_of",
            lambda luck, function, **o: bestarm.race(function, progress=False, **o),
            names | {"function": (len, None, "x", 5, lambda a, b: 0.5)} | {"max_evaluations": (9,)},
            {name: values for name, values in OPTIONS.items() if name != "max_evaluations"},
            fixed=("max_evaluations",),  # nobody presses Ctrl-C
        ),
        Target("Race", race_told, names, OPTIONS, (RuntimeError,)),
        Target(
            "race_in_store",
            lambda luck, **o: bestarm.race(evaluator(luck), progress=False, **o),
            names | {"store": (str(folder / "written" / "r.sqlite"), folder / "written" / "s.sqlite")},
            OPTIONS,
        ),
        Target(
            "race_table",
            lambda luck, **o: bestarm.race_table(**o),
            table,
            table_options
            | {
                "missing": ("raise", "worst", "drop"),
                "arms": (None, ["a", "b", "c"]),
                "groups": (None, [k // 2 for k in range(30)]),
            },
        ),
        Target(
            "race_commands",
            lambda luck, **o: bestarm.race_commands(progress=False, **o),
            {"commands": (["true", "nowhere-x"], {"a": "true", "b": ["true"]}), "max_evaluations": (2,)},
            {
                "score": ("time", "stdout"),
                "timeout": (5.0, 1),
                "folder": (None, "."),
                "retries": (0,),
                "items": (None, [1, 2]),
                "delta": (0.05,),
            },
            fixed=("max_evaluations",),  # more of them are honest work
        ),
        Target(
            "plan",
            lambda luck, **o: bestarm.plan(**o),
            {"pilot": (SCORES,), "repetitions": (10,)},
            {
                "n_items": (40, None),
                "max_evaluations": (50,),
                "bounds": ((0, 1), None),
                "delta": (0.05,),
                "epsilon": (0.1,),
                "missing": ("raise",),
                "seed": (0,),
            },
        ),
        Target(
            "read_table",
            lambda luck, **o: bestarm.read_table(**o),
            {"path": (folder / "nowhere.csv", "x.csv", ".")},
            {"item_column": ("a",), "arm_column": ("b",), "score_column": ("c",), "group_column": (None,)},
        ),
        Target(
            "ScoreTable",
            lambda luck, **o: bestarm.ScoreTable(**o),
            {"arms": (("a", "b", "c"),), "items": (tuple(map(str, range(30))),), "scores": (SCORES,)},
            {"groups": (None,)},
        ),
        Target("load_result", lambda luck, **o: bestarm.load_result(**o), {"path": ("nowhere.sqlite", ".", folder)}),
        Target(
            "simulate",
            lambda luck, **o: bestarm.simulate(**o),
            {"algorithm": (algorithms.PairwiseBAI(0.1),), "arms": (arms.equicorrelated_arms(3),), "repetitions": (2,)},
            {"seed": (0, 1)},
        ),
        Target(
            "game",
            game_told,
            {"algorithm": tuple(some_algorithms()), "n_arms": (2, 3)},
            {},
            (RuntimeError,),
            ("algorithm",),
        ),
        Target(
            "result",
            lambda luck, **o: of_result(luck, folder, **o),
            {"name": ("lead", "getitem", "json"), "value": ("a", "b", "x")},
            {},
            (KeyError, OSError),
        ),
        Target(
            "Record.of_rows",
            lambda luck, **o: Record.of_rows(**o),
            {
                "rounds": ([(1, "x", 2)], []),
                "scores": ([(1, 0, 0.5, None), (1, 1, 0.5, None)], []),
                "ahead": (1, 4),
            },
        ),
        Target(
            "equicorrelated_arms",
            lambda luck, **o: arms.equicorrelated_arms(**o),
            {"n_arms": (2, 5)},
            {"correlation": (0.5, 0.0)},
        ),
        Target(
            "clustered_arms",
            lambda luck, **o: arms.clustered_arms(**o),
            {"n_arms": (4,), "n_clusters": (2,)},
            {"correlation": (0.9,)},
        ),
        Target(
            "GaussianArms",
            lambda luck, means, covariance: arms.GaussianArms(means, covariance),
            {"means": vector, "covariance": (np.eye(3), np.eye(2))},
        ),
        Target(
            "BernoulliArms",
            lambda luck, means, variances: arms.BernoulliArms(means, variances),
            {"means": vector, "variances": ([0.2, 0.1, 0.0],)},
        ),
        Target("TableArms", lambda luck, scores: arms.TableArms(scores), {"scores": (SCORES,)}),
        Target(
            "gaussian_worst_case_arms",
            lambda luck, means, variances: arms.gaussian_worst_case_arms(means, variances),
            {"means": vector, "variances": ([0.2, 0.1, 0.0],)},
        ),
        Target("bernoulli_variances", lambda luck, means: arms.bernoulli_variances(means), {"means": vector}),
    ]
    for name in comparisons.__all__:
        kind = getattr(comparisons, name)
        if (
            hasattr(kind, "evidence")
            and hasattr(kind, "__dataclass_fields__")
            and not getattr(kind, "__abstractmethods__", None)
        ):
            parts = {spec.name: (spec.default,) for spec in fields(kind) if spec.init}
            found.append(Target(f"comparisons.{name}", lambda luck, kind=kind, **o: kind(**o), {}, parts))
    for name in ("PairwiseBAI", "ConvexBAI", "HoeffdingRace", "LUCB", "VarianceRace", "KimNelson"):
        kind = getattr(algorithms, name)
        parts = {
            spec.name: ((0.05 if spec.name == "delta" else 0.1) if spec.default is MISSING else spec.default,)
            for spec in fields(kind)
            if spec.init
        }
        found.append(
            Target(
                f"algorithms.{name}",
                lambda luck, kind=kind, **o: kind(**o).start(3),
                {k: v for k, v in parts.items() if k in ("delta", "variances")},
                parts,
            )
        )
    several = {
        "arms": (arms.equicorrelated_arms(3), arms.clustered_arms(4, 2)),
        "delta": (0.05,),
        "arm": (0, 1),
        "means": (vector[0],),
        "variances": ([0.1, 0.1, 0.0],),
    }
    for name in complexity.__all__:
        known = [one for one in inspect.signature(getattr(complexity, name)).parameters if one in several]
        found.append(
            Target(
                f"complexity.{name}",
                lambda luck, name=name, **o: getattr(complexity, name)(**o),
                {one: several[one] for one in known},
            )
        )
    return found  # fmt: skip


def some_algorithms() -> list[Any]:
    """One of each kind."""
    pairs = (comparisons.Betting(), comparisons.Wins(), comparisons.GaussianBernstein())
    others = [algorithms.ConvexBAI(0.1), algorithms.LUCB(0.1, variances=0.1), algorithms.VarianceRace(0.1)]
    zone = algorithms.KimNelson(0.1, indifference_zone=0.1)
    return [algorithms.PairwiseBAI(0.1), *(algorithms.PairwiseBAI(0.1, comparison=one) for one in pairs), *others, zone]
