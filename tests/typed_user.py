# ruff: noqa: T201 - a program of a user
"""A program of a user who checks types: every public call, and twenty mistakes that mypy must find.

`make lint` runs mypy in its strict mode over this file. Where a mistake is no longer found, its ``type: ignore`` is
unused, and that is an error. Nothing here is run.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

import bestarm
from bestarm.algorithms import LUCB, Game, Lead, PairwiseBAI, Reason
from bestarm.arms import GaussianArms
from bestarm.comparisons import Betting, Portfolio, StudentMixture
from bestarm.racing import ArmRecord, Store, StoredRace
from bestarm.simulation import Simulation


def score(arm: str, item: int) -> float:
    return len(arm) + item / 7


async def later(arm: str, item: int) -> float:
    return score(arm, item)


def all_at_once(arms: tuple[str, ...], item: int) -> list[float]:
    return [score(arm, item) for arm in arms]


class Solver:
    level: float = 0.5


def races() -> None:
    result = bestarm.race(score, arms=["a", "b"], items=range(100), bounds=(0, 1), delta=0.01, on_error="worst")
    best: str | None = result.best
    leader: str | None = result.leader
    candidates: tuple[str, ...] = result.candidates
    reason: Reason = result.reason
    lead: Lead = result.lead("a", "b")
    record: ArmRecord[str] = result["a"]
    saved: float | None = result.saved
    if result.answered and best is not None:
        print(best.upper(), leader, candidates, reason, lead.low, record.beaten_by, saved)
    solvers = {"small": Solver(), "large": Solver()}
    named: bestarm.RaceResult[str] = bestarm.race(lambda solver, seed: solver.level, arms=solvers)
    counted: bestarm.RaceResult[int] = bestarm.race(lambda arm, item: arm / item, arms=[1, 2, 3], items=iter([1, 2]))
    with ThreadPoolExecutor() as pool:
        bestarm.race(score, arms=["a", "b"], executor=pool, rounds_in_flight=3, retries=2, max_evaluations=900)
    bestarm.race(later, arms=["a", "b"], store="race.sqlite", seed=3, progress=False, lower_is_better=True)
    bestarm.race(all_at_once, arms=["a", "b"], jointly=True, comparison=StudentMixture(min_rounds=20))
    bestarm.race(score, arms=["a", "b"], algorithm=LUCB(0.1, variances=0.5), min_rounds=None, epsilon=0.1)
    for out in named.eliminations:
        print(out.arm.upper(), out.round, out.by, counted.scores[0, 0], named.warnings, named.items)
    try:
        named.to_html(Path("race.html"))
    except bestarm.EvaluationError as error:
        print(error.arm, error.item)
    except bestarm.BestarmError:
        raise


def others() -> None:
    with bestarm.Race(["a", "b"], items=range(10), bounds=(0, 1), on_error="disqualify") as race:
        for todo in race.ask():
            race.tell(todo, dict.fromkeys(todo.arms, 0.5))
        print(race.result().leader, race.finished, race.reason)
    table: bestarm.ScoreTable = bestarm.read_table("t.csv", item_column="i", arm_column="a", score_column="s")
    print(bestarm.race_table(table, missing="drop", comparison=Portfolio(), max_evaluations=50).best)
    frame: pd.DataFrame = bestarm.race_table(np.zeros((3, 2)), arms=["a", "b"], bounds=(0, 1)).to_frame()
    plan: bestarm.Plan = bestarm.plan(frame, bounds=(0, 1), n_items=99, max_evaluations=50, repetitions=20)
    programs = bestarm.race_commands({"a": ["prog", "{item}"], "b": "other {item}"}, items=["x"], score="stdout")
    loaded: bestarm.RaceResult[str] = bestarm.load_result("race.sqlite")
    sim: Simulation = bestarm.simulate(PairwiseBAI(0.1), GaussianArms([0, 1], np.eye(2)), repetitions=9, seed=1)
    game: Game = PairwiseBAI(0.1, comparison=Betting((0, 2), pool=9)).start(2)
    print(plan.median, programs.best, loaded.verdict, sim.error_rate, game.lead(0, 1))


def mistakes() -> None:
    bestarm.race(score, ["a", "b"])  # type: ignore[call-arg]
    bestarm.race(score, arms=["a", "b"], on_error="rais")  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"], bounds=(0, 1, 2))  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"], max_queries=9)  # type: ignore[call-arg]
    bestarm.race(score, arms=["a", "b"], executor=4)  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"], comparison=Betting)  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"], algorithm=Betting())  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"], store=3)  # type: ignore[arg-type]
    bestarm.race(3, arms=["a", "b"])  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"]).best.upper()  # type: ignore[union-attr]
    bestarm.race(score, arms=["a", "b"]).lead("a")  # type: ignore[call-arg]
    bestarm.race(score, arms=["a", "b"]).lead("a", 1)  # type: ignore[arg-type]
    bestarm.race(score, arms=["a", "b"]).saved + 1  # type: ignore[operator]
    numbers: bestarm.RaceResult[int] = bestarm.race_table([[1, 2]])  # type: ignore[assignment]
    bestarm.race_table([[1, 2]], missing="refuse")  # type: ignore[arg-type]
    bestarm.race_table([[1, 2]], retries=3)  # type: ignore[call-arg]
    bestarm.race_commands(["a", "b"], score="size")  # type: ignore[arg-type]
    PairwiseBAI(0.05, Betting())  # type: ignore[call-arg]
    StudentMixture(2)  # type: ignore[arg-type, call-arg]
    for _ in numbers:  # type: ignore[misc]
        pass


class Memory:
    """A store of one's own."""

    def load(self) -> StoredRace | None:
        return None


def store() -> Store:
    return Memory()  # type: ignore[return-value]
