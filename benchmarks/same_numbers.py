"""Do two commits give the same numbers? ``python benchmarks/same_numbers.py BEFORE [AFTER]``

Plays some 240 games, simulations, races, tables and plans with each of two source trees, through public names alone, and
compares numbers and decisions that they return, export and store: to the last bit, unless ``--tolerance`` lets bounds
(of regret, of leads) move a little. Of sentences and pages only whether there are any is compared; ``--words`` compares
them letter by letter. Races on lists are about these items and tables are raced, as they once were by default; arms are
compared by name, whatever their order; what only the later tree can say is no difference. A refactoring must leave every
case as it is; a change that is meant to alter numbers shows here which ones it alters. BEFORE and AFTER are git
revisions, folders with a ``src/bestarm`` in them, or files that ``--dump FILE`` has written; AFTER is the working tree by
default. Exits with 1 if a case differs.
"""

from __future__ import annotations  # the interpreter that compares imports no bestarm: a tree may be broken

import argparse
import asyncio
import hashlib
import inspect
import json
import math
import random
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trees import ROOT, check_imported, checked_out, environment_of

if TYPE_CHECKING or "--dump" in sys.argv:
    import bestarm
    from bestarm.algorithms import Game
    from bestarm.arms import (
        Arms,
        BernoulliArms,
        GaussianArms,
        bernoulli_variances,
        clustered_arms,
        equicorrelated_arms,
        gaussian_worst_case_arms,
    )

ELIMINATION = "arm round by margin weights"
WORDS = ("verdict", "text", "page", "advice", "warnings", "failure", "breakdown", "outage")
BOUNDS = ("regret_bound", "lead", "intervals")  # what is found by a search, up to rounding
Rows = NDArray[np.float64]

# What is recorded.


def plain(value: Any) -> Any:
    """Values that JSON keeps to the last bit."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, tuple | list) else value  # JSON refuses all others


def parts(thing: Any, names: str) -> dict[str, Any]:
    """Some attributes of something."""
    return {name: plain(getattr(thing, name)) for name in names.split()}


def ends(interval: Any) -> Any:
    """An interval as its ends; None stays as it is."""
    return None if interval is None else plain((interval.low, interval.high))


def state(game: Game) -> dict[str, Any]:
    """A game as it stands."""
    last = game.n_arms - 1
    return parts(game, "n_rounds n_queries candidates best means counts diagnostics") | {
        "reason": None if game.reason is None else str(game.reason),
        "eliminations": [parts(out, ELIMINATION) for out in game.eliminations],
        "contradiction": None if game.contradiction is None else parts(game.contradiction, ELIMINATION),
        "regret_bound": plain(game.regret_bound),
        "lead": [plain(game.lead_bound(a, b)) for a, b in ((0, 1), (1, 0), (0, last), (last, 0))],
        "intervals": ends(game.intervals()) if game.n_arms <= 5 else "not asked",
    }


def race_record(result: bestarm.RaceResult[Any]) -> dict[str, Any]:
    """All that a race tells; what is long as a fingerprint."""
    scores = np.where(np.isnan(result.scores), np.nan, result.scores)  # NaN of one kind only
    report = json.loads(result.to_json())
    del report["settings"]
    if report["for_population"] is not None:
        report["for_population"]["candidates"].sort(key=str)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        result.to_html(page)
        text = page.read_text(encoding="utf-8").replace(f"bestarm {bestarm.__version__}", "bestarm")
    return parts(result, "leader candidates n_evaluations n_rounds means counts verdict") | {
        "reason": str(result.reason),
        "saved": result.saved if result.answered else None,
        "eliminations": [parts(out, ELIMINATION) for out in result.eliminations],
        "disqualified": [parts(out, "arm round failure had_eliminated") for out in result.disqualified],
        "regret_bound": plain(result.regret_bound),
        "intervals": ends(result.intervals),
        "text": str(result),
        "records": by_arm(plain(result.to_records())),
        "json": report | {"arms": by_arm(report["arms"])},
        "scores": [*scores.shape, hashlib.sha256(np.ascontiguousarray(scores, dtype=np.float64).tobytes()).hexdigest()],
        "page": hashlib.sha256(text.encode()).hexdigest(),
    }


def by_arm(records: list[Any]) -> dict[str, Any]:
    """Records of arms whatever their order, which is for people and may change."""
    return {str(record["arm"]): record for record in records}


def file_record(path: Path, last: float) -> dict[str, Any]:
    """What a race file holds up to a round, as any SQL tool reads it."""
    names = ("max_evaluations", "rounds_in_flight", "on_error", "seed", "n_items")
    with closing(sqlite3.connect(path)) as file:
        query = {
            "arms": "SELECT arm, name FROM arms WHERE arm < ? ORDER BY arm",
            "rounds": "SELECT round, item, asked FROM rounds WHERE round <= ? ORDER BY round",
            "scores": "SELECT round, arm, score, failure FROM scores WHERE round <= ? ORDER BY round, arm",
            "eliminations": "SELECT arm, round, by, margin, weights FROM eliminations WHERE round <= ? ORDER BY arm",
        }
        content = {table: plain(file.execute(text, (last,)).fetchall()) for table, text in query.items()}
        settings = dict(file.execute("SELECT name, value FROM settings").fetchall())
    return content | {"settings": {name: json.loads(settings[name]) for name in (*names, "reason")}}


# Games.

LOOKS = (7, 60)  # rounds after which a game is looked at before it ends


def gaussian(K: int) -> Arms:
    """Correlated arms, of other kinds for some numbers of them."""
    if K == 20:
        return clustered_arms(20, 4)
    if K == 3:
        return gaussian_worst_case_arms([0.5, 0.2, 0.0], [0.0, 0.1, 0.3])
    if K == 4:
        return GaussianArms(np.arange(4) / 3.0, np.full((4, 4), 0.5) + np.diag([0.5, 0.1, 0.2, 0.5]))
    return equicorrelated_arms(K, 0.9)


def bernoulli(K: int) -> Arms:
    """Right or wrong answers that go together."""
    means = np.linspace(0.85, 0.25, K)
    return BernoulliArms(means, 1.2 * bernoulli_variances(means).smallest)


def scores(K: int, n_items: int = 300, power: float = 1.0, missing: float = 0.0) -> Rows:
    """Shares between 0 and 1, one row per item; some may be missing."""
    rng = np.random.default_rng([K, n_items])
    rows: Rows = (0.5 * rng.random((n_items, 1)) + 0.5 * rng.random((n_items, K)) * np.linspace(0.4, 1, K)) ** power
    rows[rng.random(rows.shape) < missing] = np.nan
    return rows


def odd(kind: str) -> Rows:
    """Rewards that no law would give. The arm that turns beats all candidates in one round, if it is kept for long."""
    rows: dict[str, Rows] = {
        "tied": scores(3).repeat([1, 1, 2], axis=1),
        "equal": scores(1).repeat(4, axis=1),
        "constant": np.tile([0.1, 0.5, 0.9, 0.9], (300, 1)),
        "turning": np.where(np.arange(300)[:, None] < 3, [0.0, -1.0, 0.0], [0.0, 4.0, 0.0]),
    }
    return rows[kind]


def play(algorithm: Any, arms: Any, block: int, n_rounds: int = 8000, out: Mapping[int, int] | None = None) -> Any:
    """A game fed in blocks of rows (0: by ask and tell), with arms (by round) disqualified by hand; on its way too."""
    given = arms if isinstance(arms, np.ndarray) else arms.draw(n_rounds, np.random.default_rng([arms.n_arms, block]))
    low, high = getattr(getattr(algorithm, "comparison", None), "bounds", None) or (0.0, 1.0)
    given, out = low + (high - low) * given, out or {}
    game: Game = algorithm.start(given.shape[1])
    seen = []
    for stop in sorted({*LOOKS, *out, len(given)}):
        while game.n_rounds < min(stop, len(given)) and not game.finished:
            if block == 0:
                game.tell(given[game.n_rounds, game.ask()])
            else:
                game.play(given[game.n_rounds : min(stop, game.n_rounds + block)])
        if stop in out and not game.finished and out[stop] in game.ask():
            game.disqualify(out[stop])
        seen.append(state(game))
    return seen


def simulated(algorithm: Any, arms: Arms, seed: int = 0) -> Any:
    """Some games from one seed."""
    games = bestarm.simulate(algorithm, arms, repetitions=12, seed=seed, progress=False)
    return parts(games, "queries rounds winners candidates reasons error_rate")


# Races.

ARMS = {"plain": 0.35, "short": 0.45, "long": 0.5, "few": 0.6, "many": 0.72}
Score = Callable[[str, object], float]


def luck(*words: object) -> random.Random:
    """Random numbers that are a function of these words, in every process."""
    return random.Random(" ".join(map(str, words)))  # noqa: S311 - no secrets here


def share(arm: str, item: object) -> float:
    """A score between 0 and 1: the item is as hard for all arms."""
    return min(1.0, max(0.0, ARMS[arm] + luck(item).uniform(-0.2, 0.2) + luck(arm, item).gauss(0, 0.1)))


def level(arm: str, item: object) -> float:
    """A score without bounds."""
    return ARMS[arm] + luck(item).gauss(0, 1) + luck(arm, item).gauss(0, 0.1)


def failing(arm: str, item: object) -> float:
    """Two arms cannot do every item."""
    if arm in ("few", "long") and luck("fails", arm, item).random() < 0.08:
        raise ValueError(f"no {arm} today")
    return share(arm, item)


def awaited(score: Score) -> Callable[..., Any]:
    """The same scores from an event loop, in some other order."""

    async def evaluate(arm: str, item: object) -> float:
        await asyncio.sleep(0.001 * luck("wait", arm, item).random())
        return score(arm, item)

    return evaluate


def together(score: Score) -> Callable[..., Any]:
    """The same scores, those of a round all at once."""
    return lambda arms, item: {arm: score(arm, item) for arm in arms}


def flaky() -> Score:
    """Some evaluations fail once, and some twice."""
    failures: dict[tuple[str, object], int] = {}

    def evaluate(arm: str, item: object) -> float:
        so_far = failures.get((arm, item), 0)
        chance = luck("flaky", arm, item).random()
        if so_far < (chance < 0.04) + (chance < 0.02):
            failures[arm, item] = so_far + 1
            raise OSError(f"attempt {so_far + 1}")
        return share(arm, item)

    return evaluate


def about_the_list(**settings: Any) -> dict[str, Any]:
    """Settings of a race; on a list it is about the mean over these items, as it was once by default."""
    tested = "bounds" in settings and "algorithm" not in settings
    return {"target": "items"} | settings if tested and isinstance(settings.get("items"), Sequence) else settings


def recorded(rows: Rows, **settings: Any) -> Any:
    """A race on a table, as far as it would have run: by default for trees that do not know leaderboards."""
    if "live" in inspect.signature(bestarm.race_table).parameters:
        settings["live"] = True
    if not {"algorithm", "comparison"} & set(settings):
        settings["target"] = "items"
    return race_record(bestarm.race_table(rows, **settings))


def run(score: Callable[..., Any], arms: Any = tuple(ARMS), threads: int = 0, **settings: Any) -> Any:
    """One race; the text of the error that ends it, if one does."""
    with ExitStack() as stack:
        if threads:
            settings["executor"] = stack.enter_context(ThreadPoolExecutor(threads))
        try:
            return race_record(bestarm.race(score, arms=arms, progress=False, **about_the_list(**settings)))
        except bestarm.EvaluationError as error:
            return {"error": type(error).__name__, "text": str(error)}


@contextmanager
def on_disk() -> Iterator[tuple[Path, Callable[..., Any]]]:
    """A file for a race, and what is recorded of it: the result, the tables, what is read from them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "race.sqlite"
        yield path, lambda ran, last=math.inf: [ran, file_record(path, last), race_record(bestarm.load_result(path))]


def resumed(score: Any, budget: int, items: Callable[[], Any] = lambda: None, threads: int = 0, **settings: Any) -> Any:
    """A race that ends by its budget, then goes on with a larger one."""
    records = []
    with on_disk() as (path, record):
        for limit in (budget, 4000):
            ran = run(score, items=items(), threads=threads, store=path, max_evaluations=limit, **settings)
            records += record(ran, ran["n_rounds"]) if threads else record(ran)  # what threads add later may vary
    return records


def told(score: Any, stop: int, items: Callable[[], Any] = lambda: None, **settings: Any) -> Any:
    """A race told score by score, last arms first, closed in the middle of a round and opened again."""
    records, n_told = [], 0
    with on_disk() as (path, record):
        for limit in (stop, sys.maxsize):
            with bestarm.Race(tuple(ARMS), store=path, **about_the_list(items=items(), **settings)) as race:
                while not race.finished and n_told < limit:
                    wanted = [(todo, arm) for todo in race.ask()[::-1] for arm in todo.arms[::-1]]
                    for asked, arm in wanted[: limit - n_told]:
                        if not race.finished:
                            race.tell(asked, {arm: score(arm, asked.item)})
                            n_told += 1
                ran = race_record(race.result())
            records += record(ran)
    return records


def planned(pilot: Rows, **settings: Any) -> Any:
    """How long a race will take."""
    made = bestarm.plan(pilot, repetitions=10, **settings)
    return parts(made, "best median median_range large_enough advice") | {"text": str(made)}


def programs(items: Any, **settings: Any) -> Any:
    """A race of programs that print a number; they are named, so that no path of a machine is in the result."""
    code = "import sys; print('score', {} + int(sys.argv[1]) * 7919 % 101 / 500)"
    commands = {arm: [sys.executable, "-S", "-c", code.format(ARMS[arm]), "{item}"] for arm in ("short", "few", "many")}
    return race_record(
        bestarm.race_commands(commands, score="stdout", progress=False, **about_the_list(items=items, **settings))
    )


# The cases: each is a call, and the text of the call is its name. One line may stand for several.

BLOCKS = (0, 1, 7, 64, 5000)
GAUSSIAN = (
    "StudentMixture(min_rounds=2)",
    "GaussianBernstein()",
    "StudentMixture(min_rounds=20)",
    "GaussianBernstein(f='published')",
    "SymmetricBetting()",
)
BOUNDED = (
    "Betting()",
    "EmpiricalBernstein()",
    "Betting(bounds=(-2, 5))",
    "LeaderBetting()",
    "LeaderBetting(pairs=0)",
    "Wins()",
)
OPTIONS = ("keep=2", "keep=82", "epsilon=0.15", "indifference_zone=0.15", "max_rounds=45", "max_queries=170")
KINDS = {
    "items=range(300), bounds=(0, 1)": "share",
    "items=[f'item {k}' for k in range(200)]": "level",
    "items=iter(range(50)), bounds=(0, 1)": "share",
    "items=iter(range(300))": "level",
    "bounds=(0, 1), seed=3": "share",
    "seed=4": "level",
}
OTHER_CASES = """
play(ConvexBAI(0.05, comparison=Portfolio()), TableArms(scores({})), 64) for {} in 2; 3; 10; 20
play(ConvexBAI(0.05, comparison=Portfolio(bounds=(-2, 5))), TableArms(scores(5)), 7)
play(ConvexBAI(0.05, comparison=Portfolio(), {}), TableArms(scores(5)), 0) for {} in keep=2; epsilon=0.1; max_queries=170
play(ConvexBAI(0.05, comparison=ConvexBernstein()), bernoulli({}), 5000) for {} in 2; 3
play(ConvexBAI(0.1, comparison=ConvexBernstein(sparsity=2)), bernoulli(10), 7)
play(ConvexBAI(0.1, comparison=ConvexBernstein(sparsity=1), keep=98), bernoulli(3), 0)
play(ConvexBAI(0.1, comparison=ConvexBernstein(), check_growth=1, max_rounds=3000), bernoulli(3), 64)
play(LUCB(0.05), gaussian({}), 64) for {} in 2; 10
play(KimNelson(0.05, indifference_zone=0.1), gaussian({}), 7) for {} in 2; 5; 20
play(HoeffdingRace(0.05), gaussian({}), 0) for {} in 3; 10
play({}(0.1, variances=(1.0, 0.6, 0.7, 1.0)), gaussian(4), 0) for {} in LUCB; HoeffdingRace
play(KimNelson(0.1, indifference_zone=0.3, min_rounds=30), gaussian(4), 64)
play(VarianceRace(0.05), gaussian({}), 5000) for {} in 3; 10
play(VarianceRace(0.05, rewards='bounded'), bernoulli({}), 7) for {} in 3; 10
play(PairwiseBAI(0.05, comparison=Betting(pool=60)), PoolArms(odd('tied')[:60]), 7, 60)
play(PairwiseBAI(0.05, comparison=Betting(pool=300)), PoolArms(scores(3)), 0, 300)
play(PairwiseBAI(0.05, comparison=LeaderBetting(pool=300, pairs={})), PoolArms(scores(5)), 7, 300) for {} in 0; None
play(PairwiseBAI(0.05, comparison=LeaderBetting(pairs=0), indifference_zone=0.05), TableArms(scores(150)), 64, 500)
play(ConvexBAI(0.05, comparison=Portfolio(pool=80)), PoolArms(scores(4, 80, 0.3)), 0, 80)
play(ConvexBAI(0.05, comparison=Portfolio(pool=300)), PoolArms(scores(3)), 64, 300)
play({}, odd('tied'), 64) for {} in PairwiseBAI(comparison=StudentMixture(min_rounds=2)); PairwiseBAI(0.05, comparison=Betting()); ConvexBAI(); VarianceRace()
play({}, odd('equal'), 0) for {} in PairwiseBAI(comparison=StudentMixture(min_rounds=2)); PairwiseBAI(0.05, comparison=Betting()); ConvexBAI(); VarianceRace()
play({}, odd('constant'), 7) for {} in PairwiseBAI(comparison=StudentMixture(min_rounds=2)); PairwiseBAI(0.05, comparison=Betting()); ConvexBAI(); KimNelson()
play(PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82), odd('turning'), 7)
simulated({}, gaussian(4)) for {} in PairwiseBAI(comparison=StudentMixture(min_rounds=2), epsilon=0.15); LUCB(0.05, variances=0.2); KimNelson(0.05, indifference_zone=0.1)
simulated({}, TableArms(scores(4)), seed=3) for {} in PairwiseBAI(0.05, comparison=Betting(), max_queries=100); ConvexBAI(0.05)
simulated(ConvexBAI(0.05, comparison=ConvexBernstein(sparsity=1), max_rounds=8000), bernoulli(4), seed=4)
simulated(PairwiseBAI(0.05, comparison=Betting(pool=100)), PoolArms(scores(4, 100)), seed=5)
simulated(VarianceRace(0.05, rewards='bounded'), bernoulli(4), seed=6)
run(level, {}) for {} in epsilon=0.1; indifference_zone=0.1, delta=0.2; max_evaluations=40; min_rounds=3
run(level, lower_is_better=True, {}) for {} in seed=1; epsilon=0.08, rounds_in_flight=4
run(share, items=range(300), bounds=(0, 1), {}) for {} in epsilon=0.1; indifference_zone=0.1, delta=0.2; max_evaluations=40
run(share, items=range(300), bounds=(0, 1), lower_is_better=True, {}) for {} in seed=1; epsilon=0.08, rounds_in_flight=4
run(share, {'first': 'plain', 'second': 'many'}, items=range(300), bounds=(0, 1), shuffle_arms=True)
run(share, items=range(900), bounds=(-1, 3))
run(share, items=range(250), algorithm={}(0.05, variances=0.02)) for {} in LUCB; HoeffdingRace
run(share, items=range(250), algorithm={}) for {} in KimNelson(0.05, indifference_zone=0.05); VarianceRace(0.05, rewards='bounded')
run(share, items=range(250), algorithm=PairwiseBAI(0.1, comparison=EmpiricalBernstein(), keep=2, max_rounds=200))
run(share, items=range(250), algorithm=ConvexBAI(0.05, comparison=Portfolio(pool=250)))
run(failing, items=range(300), bounds=(0, 1), on_error='{}') for {} in raise; worst; disqualify
run(failing, bounds=(0, 1), rounds_in_flight=4, lower_is_better=True, on_error='{}') for {} in raise; worst; disqualify
run(failing, on_error='disqualify', threads=4)
run(flaky(), items=range(300), bounds=(0, 1), retries={}) for {} in 1; 2
resumed(share, 60, lambda: range(300), bounds=(0, 1))
resumed(level, 45, lambda: {}) for {} in range(200), epsilon=0.02; iter(range(300)), lower_is_better=True
resumed(level, 45, threads=4)
resumed(failing, 60, lambda: range(300), bounds=(0, 1), on_error='disqualify')
resumed(failing, 60, bounds=(0, 1), on_error='worst', rounds_in_flight=4)
resumed(share, 30, lambda: range(250), algorithm={}) for {} in LUCB(0.05, variances=0.02); ConvexBAI(0.05, comparison=Portfolio(pool=250))
told(share, 43, lambda: range(300), bounds=(0, 1))
told(level, 58, lambda: iter(range(300)))
told(level, 32, rounds_in_flight=3)
recorded(scores(5), {}) for {} in seed=0; comparison=StudentMixture(); lower_is_better=True, indifference_zone=0.05
recorded(scores(20), seed=7)
recorded(scores(3), bounds=(-1, 2), epsilon=0.05)
recorded(scores(4, missing=0.02), missing={}) for {} in 'worst'; 'drop', delta=0.2
recorded(scores(3, 40, 0.3).repeat(2, axis=1))
recorded(scores(4), algorithm={}) for {} in LUCB(0.05, variances=0.02); ConvexBAI(0.1, comparison=ConvexBernstein(), keep=2)
planned(scores(3, 40), {}) for {} in seed=1; bounds=(0, 1), epsilon=0.1
planned(scores(4, 50, missing=0.02), bounds=(0, 2), lower_is_better=True, missing='worst', indifference_zone=0.1)
programs({}) for {} in range(40), bounds=(0, 1); iter(range(100)), lower_is_better=True
"""


def all_cases() -> list[str]:
    """Every comparison, number of arms, option and kind of race, and the others."""
    cases = []
    fitting = [(one, "gaussian") for one in GAUSSIAN] + [(one, "bernoulli") for one in BOUNDED]
    for k, (comparison, arms) in enumerate(fitting):
        pairwise = f"PairwiseBAI(0.05, comparison={comparison}"
        for n, K in enumerate((2, 3, 5, 10, 20)):
            cases.append(f"play({pairwise}), {arms}({K}), {BLOCKS[(k + n) % 5]})")
        if comparison.endswith(("()", "=2)")):
            for n, option in enumerate(OPTIONS):
                cases.append(f"play({pairwise}, {option}), {arms}(5), {BLOCKS[(k + n) % 5]})")
            cases.append(f"simulated({pairwise}), {arms}(4))")
            cases.append(f"play({pairwise}), TableArms(scores(6)), {BLOCKS[k % 4]}, out={{1: 4, 12: 5, 30: 1}})")
    for algorithm in (
        "KimNelson(0.05, indifference_zone=0.01)",
        "HoeffdingRace(0.05, variances=0.05)",
        "VarianceRace(0.05, rewards='bounded')",
    ):
        cases.append(f"play({algorithm}, TableArms(scores(6)), 7, out={{1: 4, 12: 5, 30: 1}})")
    for kind, score in KINDS.items():
        cases += [f"run({score}, {kind})", f"run({score}, {kind}, rounds_in_flight=4, threads=4)"]
        cases += [f"run(awaited({score}), {kind})", f"run(together({score}), {kind}, jointly=True, rounds_in_flight=3)"]
    for line in OTHER_CASES.strip().splitlines():
        text, _, values = line.partition(" for {} in ")
        cases += [text.replace("{}", value) for value in values.split("; ")]
    return list(dict.fromkeys(cases))


def dump(path: Path) -> None:
    """Run all cases with the bestarm that is imported, and write what came out."""
    warnings.simplefilter("ignore", bestarm.AssumptionWarning)
    modules = (bestarm.arms, bestarm.algorithms, bestarm.comparisons)
    names = globals() | {name: getattr(module, name) for module in modules for name in module.__all__}
    records: dict[str, Any] = {}
    for case in all_cases():
        try:
            records[case] = json.loads(json.dumps(eval(case, names)))  # noqa: S307 - written above
        except Exception as error:  # the other cases are still worth comparing
            records[case] = {"broken": f"{type(error).__name__}: {error}"}
    path.write_text(json.dumps({"bestarm": bestarm.__file__, "cases": records}), encoding="utf-8")


# Two trees.


def first_difference(before: Any, after: Any, slack: float, place: str = "") -> str | None:
    """Where two records differ first, or None; floats are compared as they are written, so that NaN equals NaN."""
    several = isinstance(before, dict | list)
    if isinstance(before, float) and isinstance(after, float) and before == after == 0.0:  # of either sign
        return None
    if type(before) is not type(after) or (not several and repr(before) != repr(after)):
        near = isinstance(before, float) and isinstance(after, float) and abs(before - after) <= slack
        bound = any(f"/{name}" in place for name in BOUNDS)
        return None if near and bound else f"{place or 'all'}: {before!r:.80} before, {after!r:.80} after"
    if not several:
        return None
    one, other = (value if isinstance(value, dict) else dict(enumerate(value)) for value in (before, after))
    added = {} if isinstance(after, dict) else other  # what only the later tree can say is no difference
    names = dict.fromkeys([*one, *added])
    # What the later tree no longer says is none while it was None.
    found = (first_difference(one.get(name), other.get(name), slack, f"{place}/{name}") for name in names)
    return next(filter(None, found), None)


def wordless(record: Any) -> Any:
    """A record in which sentences and pages are only there or not."""
    if isinstance(record, list):
        return [wordless(part) for part in record]
    if not isinstance(record, dict):
        return record
    return {name: bool(part) if name in WORDS else wordless(part) for name, part in record.items()}


def compare(before: dict[str, Any], after: dict[str, Any], slack: float) -> bool:
    """Print which cases differ and where; whether none does. A case that is broken in both is not the same."""
    same = 0
    for case in dict.fromkeys([*before, *after]):
        one = before.get(case, "absent")
        found = first_difference(one, after.get(case, "absent"), slack)
        if found is None and isinstance(one, dict) and "broken" in one:
            found = f"{one['broken']} (before and after)"
        same += found is None
        if found is not None:
            print(f"{case}\n    {found}")
    n_cases = len({*before, *after})
    print(f"{same} of {n_cases} the same")
    return same == n_cases


def records_of(name: str) -> dict[str, Any]:
    """The records of a revision, a folder or a file, by an interpreter that imports no other bestarm."""
    if Path(name).is_file():
        return cases_in(Path(name))
    with checked_out(name) as folder, tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch) / "records.json"
        words = [sys.executable, str(Path(__file__).resolve()), "--dump", str(written)]
        subprocess.run(words, env=environment_of(folder, Path(scratch) / "kernels"), cwd=scratch, check=True)
        return cases_in(written, folder)


def cases_in(file: Path, folder: Path | None = None) -> dict[str, Any]:
    """What was dumped, by the bestarm of a folder if one is given."""
    records = json.loads(file.read_text(encoding="utf-8"))
    if folder is not None:
        check_imported(records["bestarm"], folder)
    cases: dict[str, Any] = records["cases"]
    return cases


def main() -> None:
    """Compare two trees, or dump the cases of the one that is imported."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", help="a git revision, a folder with src/bestarm in it, or a dump")
    parser.add_argument("after", nargs="?", default=str(ROOT), help="the same; by default the working tree")
    parser.add_argument("--dump", type=Path, metavar="FILE", help="only run the cases, and write what came out")
    parser.add_argument("--words", action="store_true", help="compare sentences and pages too")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="by how much bounds may differ (eliminations may not)"
    )
    arguments = parser.parse_args()
    if arguments.dump is not None:
        dump(arguments.dump)
        return
    if arguments.before is None:
        parser.error("give BEFORE, or --dump FILE")
    before, after = (records_of(tree) for tree in (arguments.before, arguments.after))
    if not arguments.words:
        before, after = wordless(before), wordless(after)
    sys.exit(not compare(before, after, arguments.tolerance))


if __name__ == "__main__":
    main()
