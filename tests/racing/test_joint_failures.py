"""All arms of a round in one call: where some of them fail, what is good is kept, and each failure acted on."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bestarm
from race_files import Memory, RaceFile
from row_races import run

ARMS = ["a", "b", "c"]
GOOD = {"a": 0.25, "b": 0.5, "c": 0.75}
each_arm = pytest.mark.parametrize("bad", ARMS)


class Together:
    """Scores of all arms at once; in the third call those of some are no numbers."""

    def __init__(self, bad: str) -> None:
        self.bad = bad
        self.calls: list[tuple[str, ...]] = []

    def __call__(self, arms: tuple[str, ...], item: int) -> list[float]:
        self.calls.append(arms)
        failing = self.bad if len(self.calls) == 3 else ""
        return [math.nan if arm in failing else GOOD[arm] for arm in arms]


def third_round(store: Path) -> list[Any]:
    return [row for row in RaceFile(store).scores() if row[0] == 3]


@pytest.mark.parametrize("bad", [*ARMS, "ab", "ac", "bc"])
def test_what_is_good_is_on_disk_when_the_failure_is_raised(bad: str, tmp_path: Path) -> None:
    store, evaluate = tmp_path / "race.sqlite", Together(bad)
    with pytest.raises(bestarm.EvaluationError, match=rf"^evaluate\('{bad[0]}', .* returned nan"):
        run(evaluate, ARMS, range(200), bounds=(0, 1), jointly=True, store=store)
    assert len(evaluate.calls) == 3  # nothing was evaluated after the failure
    assert third_round(store) == [(3, k, GOOD[arm], None) for k, arm in enumerate(ARMS) if arm not in bad]
    again = Together("")
    result = run(again, ARMS, range(200), bounds=(0, 1), jointly=True, store=store)
    assert again.calls[0] == tuple(bad)  # only what is missing is asked for once more
    assert result.best == "c"
    assert result.scores[2].tolist() == list(GOOD.values())


@each_arm
def test_a_failure_counts_as_the_worst_whichever_arm_it_is_of(bad: str, tmp_path: Path) -> None:
    store, evaluate = tmp_path / "race.sqlite", Together(bad)
    result = run(evaluate, ARMS, range(200), bounds=(0, 1), jointly=True, store=store, on_error="worst")
    assert result.scores[2].tolist() == [0.0 if arm == bad else GOOD[arm] for arm in ARMS]
    assert [(arm, failure is not None) for _, arm, _, failure in third_round(store)] == [
        (k, arm == bad) for k, arm in enumerate(ARMS)
    ]


@each_arm
@pytest.mark.parametrize("on", ["here", "event loop"])
def test_the_arm_that_failed_is_disqualified_and_no_other(bad: str, on: str) -> None:
    together = Together(bad)

    async def later(arms: tuple[str, ...], item: int) -> Any:
        return together(arms, item)

    evaluate = together if on == "here" else later
    result = run(evaluate, ARMS, range(200), bounds=(0, 1), jointly=True, on_error="disqualify", rounds_in_flight=1)
    assert [(gone.arm, gone.round) for gone in result.disqualified] == [(bad, 3)]
    assert all(bad not in arms for arms in together.calls[3:])
    assert result.best == ("b" if bad == "c" else "c")


class Watched(Memory):
    """A store that notes how many evaluations there were when scores were saved, and of which arms these are."""

    def __init__(self, done: list[str]) -> None:
        super().__init__()
        self.done = done
        self.saves: list[tuple[int, list[int]]] = []

    def save(self, rounds: Sequence[Any], scores: Sequence[Any]) -> None:
        self.saves.append((len(self.done), [arm for _, arm, _, _ in scores]))
        super().save(rounds, scores)


@pytest.mark.parametrize(("on_error", "retries"), [("raise", 0), ("raise", 1), ("worst", 0)])
def test_arms_one_by_one_a_failure_is_acted_on_before_the_next_arm(on_error: str, retries: int) -> None:
    """The next evaluation may take an hour."""
    done: list[str] = []
    store = Watched(done)

    def evaluate(arm: str, item: int) -> float:
        done.append(arm)
        return math.nan if 5 <= len(done) <= 5 + retries else GOOD[arm]

    options: dict[str, Any] = {"bounds": (0, 1), "store": store, "on_error": on_error, "retries": retries}
    if on_error == "raise":
        with pytest.raises(bestarm.EvaluationError, match=r"^evaluate\('b'"):
            run(evaluate, ARMS, range(200), **options)
        assert done == ["a", "b", "c", "a", *["b"] * (1 + retries)]
        assert store.saves == [(3, [0, 1, 2]), (5 + retries, [0])]
    else:
        assert run(evaluate, ARMS, range(200), **options).best == "c"
        assert store.saves[:4] == [(3, [0, 1, 2]), (5, [0, 1]), (6, [2]), (9, [0, 1, 2])]
