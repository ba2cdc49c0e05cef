"""The first lines of a result, what to do next, and the small print, case by case; and the whole text form."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import bestarm
from bestarm.algorithms import LUCB, PairwiseBAI
from bestarm.comparisons import GaussianBernstein, SymmetricBetting
from own_games import FarBehind, Playing

Race = Callable[..., Any]
KEPT = PairwiseBAI(0.1, comparison=GaussianBernstein(), keep=82)


def turning(arm: int, item: int) -> float:
    """Arm 1 is worst at first and best later on."""
    return 0.0 if arm != 1 else -1.0 if item < 3 else 4.0


def level_of(n_arms: int, gap: float = 0.1) -> Callable[[int, int], float]:
    return lambda arm, item: 0.9 - gap * arm + 0.05 * (item % 2)


def cycle(arm: int, item: int) -> float:
    """0 beats 1, 1 beats 2, 2 beats 0, each on two items of three; arm 3 is the worst."""
    return 0.0 if arm == 3 else float(([3, 2, 1], [1, 3, 2], [2, 1, 3])[item % 3][arm])


def table(n_arms: int = 3, n_items: int = 300, gap: float = 0.1) -> Any:
    rng = np.random.default_rng(1)
    luck = 0.1 * rng.standard_normal((n_items, 1)) + 0.05 * rng.standard_normal((n_items, n_arms))
    return np.clip(0.6 - gap * np.arange(n_arms) + luck, 0.0, 1.0)


def board(n_arms: int = 3, n_items: int = 300, gap: float = 0.1, **more: Any) -> Callable[[Race], Any]:
    names = [f"m{k}" for k in range(n_arms)]
    return lambda race: bestarm.race_table(table(n_arms, n_items, gap), arms=names, **more)


def ask_again(race: Race) -> Any:
    """A race of one's own that is looked at on the way."""
    contest = bestarm.Race(["low", "high"], items=range(1000), bounds=(0, 1))
    for _ in range(4):
        (todo,) = contest.ask()
        contest.tell(todo, {"low": 0.2, "high": 0.9})
    return contest.result()


def dead(arm: str, item: int) -> float:
    raise OSError("disk full")


def dead_at_five(arm: str, item: int) -> float:
    if item == 5:
        raise OSError("disk full")
    return {"low": 0.2, "mid": 0.5, "high": 0.6}[arm]


def of(**options: Any) -> Callable[[Race], Any]:
    return lambda race: race(
        **{name: value() if name == "items" and callable(value) else value for name, value in options.items()}
    )


NUMBERS = {"arms": range(3), "evaluate": level_of(3, 0.02)}
# What is raced, the verdict, and what stands below the table.
CASES: dict[str, tuple[Callable[[Race], Any], list[str], list[str]]] = {
    "answered": (
        of(),
        ["BEST: high   (95% confidence, items like these)", "mid is 0.4 behind, low 0.7."],
        ["37 of 3,000 evaluations (99% saved).", "Holds if scores lie in [0, 1] and these items are a random sample."],
    ),
    "answered: two arms": (
        of(arms=["low", "high"]),
        ["BEST: high   (95% confidence, items like these)", "low is 0.7 behind."],
        ["18 of 2,000 evaluations (99% saved).", "Holds if scores lie in [0, 1] and these items are a random sample."],
    ),
    "answered: ten arms": (
        of(evaluate=level_of(10), arms=range(10)),
        ["BEST: 0   (95% confidence, items like these)", "1 is 0.10 behind, 2 0.20, the other 7 at least 0.30."],
        [
            "197 of 10,000 evaluations (98% saved).",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "items": (
        of(target="items"),
        ["BEST: high   (95% confidence, these 1,000 items)", "mid is 0.4 behind, low 0.7."],
        ["37 of 3,000 evaluations (99% saved).", "Holds if scores lie in [0, 1] and items come in random order."],
    ),
    "undecided: 2": (
        of(arms=["low", "high"], max_evaluations=11),
        [
            "UNDECIDED: high or low   (95% confidence, items like these)",
            "Budget spent: high leads by 0.7; the other may be much better.",
        ],
        [
            "Next: a larger budget.",
            "10 evaluations in 5 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "undecided: 3": (
        of(max_evaluations=11),
        [
            "UNDECIDED: high, mid or low   (95% confidence, items like these)",
            "Budget spent: high leads by 0.4; another may be much better.",
        ],
        [
            "Next: a larger budget.",
            "9 evaluations in 3 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "undecided: many": (
        of(**NUMBERS | {"arms": range(9)}, max_evaluations=500),
        [
            "4 OF 9 MAY BE THE BEST: 0 leads   (95% confidence, items like these)",
            "Budget spent: 0 leads by 0.02; another may be up to 0.045 better.",
        ],
        [
            "Next: a larger budget, or accept the leader, at most 0.045 worse than the best (epsilon 0.045).",
            "499 evaluations in 73 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "undecided: long names": (
        of(evaluate=lambda arm, item: 0.5, arms=["a" * 60, "b" * 60], max_evaluations=40),
        [
            (
                "UNDECIDED: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa or "
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb   (95% confidence, items like "
                "these)"
            ),
            (
                "Budget spent: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa and "
                "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb are level; the other may be "
                "up to 0.25 better."
            ),
        ],
        [
            "Next: a larger budget, or accept the leader, at most 0.25 worse than the best (epsilon 0.25).",
            "40 evaluations in 20 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "within epsilon": (
        of(epsilon=0.5),
        [
            "BEST OR WITHIN 0.5 OF IT: high   (95% confidence, items like these)",
            "mid is 0.4 behind, low 0.7; none is better by more than 0.5.",
        ],
        ["24 of 3,000 evaluations (99% saved).", "Holds if scores lie in [0, 1] and these items are a random sample."],
    ),
    "within epsilon: wins": (
        of(epsilon=0.6, criterion="wins", bounds=None),
        [
            "BEST OR WITHIN 60% OF IT: high   (95% confidence, items like these, by wins)",
            "Items won minus lost: 100% against mid, 100% against low; none is better by more than 60%.",
        ],
        [
            "18 of 3,000 evaluations (99% saved).",
            "Holds if some arm beats every other one and these items are a random sample.",
        ],
    ),
    "zone": (
        of(indifference_zone=0.1),
        ["BEST: high   (95% confidence, items like these)", "mid is 0.4 behind, low 0.7."],
        [
            "33 of 3,000 evaluations (99% saved).",
            "Holds if scores lie in [0, 1], the best leads by at least 0.1 and these items are a random sample.",
        ],
    ),
    "exact": (
        board(target="items"),
        ["HIGHEST MEAN: m0   (exact, these 300 items)", "m1 is 0.0991 behind, m2 0.2075."],
        ["A race would have needed 10% of these scores (--live)."],
    ),
    "leaderboard": (
        board(),
        ["BEST: m0   (95% confidence, items like these 300)", "m1 is 0.0991 behind, m2 0.2075."],
        [
            "A race would have needed 11% of these scores (--live).",
            "Holds if new items score in [0.0384603, 0.882517] and these items are a random sample.",
        ],
    ),
    "leaderboard: undecided": (
        board(20, gap=0.002),
        [
            "10 OF 20 MAY BE THE BEST: m0 leads   (95% confidence, items like these 300)",
            "m0 leads by 0.0020; another may be up to 0.015 better.",
        ],
        [
            "Next: more items, or accept the leader, at most 0.015 worse than the best (epsilon 0.015).",
            "A race would have used 75% of these scores (--live).",
            "Holds if new items score in [0.201458, 0.981341] and these items are a random sample.",
        ],
    ),
    "leaderboard: two left": (
        board(3, gap=0.001),
        [
            "UNDECIDED: m0, m1 or m2   (95% confidence, items like these 300)",
            "m0 leads by 0.00005; another may be up to 0.016 better.",
        ],
        [
            "Next: more items, or accept the leader, at most 0.016 worse than the best (epsilon 0.016).",
            "A race would have used 100% of these scores (--live).",
            "Holds if new items score in [0.23646, 0.939732] and these items are a random sample.",
        ],
    ),
    "leaderboard: bounds given": (
        board(bounds=(0, 1)),
        ["BEST: m0   (95% confidence, items like these 300)", "m1 is 0.0991 behind, m2 0.2075."],
        [
            "A race would have needed 14% of these scores (--live).",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "leaderboard: wins": (
        board(criterion="wins"),
        [
            "BEST: m0   (95% confidence, items like these 300, by wins)",
            "Items won minus lost: 82.0% against m1, 100.0% against m2.",
        ],
        [
            "A race would have needed 3% of these scores (--live).",
            "Holds if some arm beats every other one and these items are a random sample.",
        ],
    ),
    "live": (
        board(live=True),
        ["BEST: m0   (95% confidence, items like these)", "m1 is 0.101 behind, m2 0.219."],
        [
            "102 of 900 evaluations (89% saved).",
            "Holds if new items score in [0.0384603, 0.882517] and these items are a random sample.",
        ],
    ),
    "tie": (
        of(evaluate=lambda arm, item: 0.5, items=range(7), target="items"),
        ["TIE: low, mid and high   (exact, these 7 items)", "They have the same mean over these 7 items."],
        ["21 of 21 evaluations."],
    ),
    "level": (
        of(evaluate=lambda arm, item: 0.5, items=range(7)),
        [
            "UNDECIDED: low, mid or high   (95% confidence, items like these)",
            "After all 7 items low and mid are level; another may be much better.",
        ],
        [
            "Next: more items.",
            "21 evaluations in 7 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "wins": (
        of(criterion="wins", bounds=None),
        [
            "BEST: high   (95% confidence, items like these, by wins)",
            "Items won minus lost: 100% against low, 100% against mid.",
        ],
        [
            "23 of 3,000 evaluations (99% saved).",
            "Holds if some arm beats every other one and these items are a random sample.",
        ],
    ),
    "wins: no winner": (
        of(evaluate=cycle, arms=range(4), items=range(60), criterion="wins", bounds=None, target="items"),
        [
            "BEST: 0   (95% confidence, these 60 items, by wins)",
            "Items won minus lost: -16% against 2, 30% against 1, 100% against 3.",
        ],
        [
            "Warning: 2 is out, but ahead of 0 on the items that they share: perhaps no arm beats all others.",
            "123 of 240 evaluations (49% saved).",
            "Holds if some arm beats every other one and items come in random order.",
        ],
    ),
    "wins: groups": (
        of(criterion="wins", bounds=None, groups=[k // 2 for k in range(1000)]),
        [
            "BEST: high   (95% confidence, groups of items like these, by wins)",
            "Items won minus lost: 100% against low, 100% against mid.",
        ],
        [
            "46 of 3,000 evaluations (98% saved).",
            "Holds if some arm beats every other one and these groups are a random sample.",
        ],
    ),
    "groups": (
        of(groups=[k // 2 for k in range(1000)]),
        ["BEST: high   (95% confidence, groups of items like these)", "mid is 0.4 behind, low 0.7."],
        ["74 of 3,000 evaluations (98% saved).", "Holds if scores lie in [0, 1] and these groups are a random sample."],
    ),
    "replace": (
        of(replace=True),
        ["BEST: high   (95% confidence, these 1,000 items)", "mid is 0.4 behind, low 0.7."],
        ["37 evaluations in 14 draws with replacement.", "Holds if scores lie in [0, 1]."],
    ),
    "stream": (
        of(items=range(400).__iter__),
        ["BEST: high   (95% confidence, items like these)", "mid is 0.4 behind, low 0.7."],
        ["37 evaluations in 14 rounds.", "Holds if scores lie in [0, 1] and items are independent and alike."],
    ),
    "seeds": (
        of(items=None),
        ["BEST: high   (95% confidence, all seeds)", "mid is 0.4 behind, low 0.7."],
        ["37 evaluations in 14 rounds.", "Holds if scores lie in [0, 1]."],
    ),
    "interrupted": (
        of(fails={"high": 13}, error=KeyboardInterrupt()),
        [
            "UNDECIDED: high or mid   (95% confidence, items like these)",
            "Interrupted: high leads by 0.4; the other may be up to 0.062 better.",
        ],
        [
            "Next: continue the race, if it was given a store, or accept the leader, at most 0.062 worse than "
            "the best (epsilon 0.062).",
            "35 evaluations in 12 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "interrupted: at once": (
        of(fails={"mid": 1}, error=KeyboardInterrupt()),
        ["NO ANSWER: the race was interrupted before the first round was complete"],
        ["3 evaluations in 0 rounds."],
    ),
    "ran out: items": (
        of(items=range(3)),
        [
            "UNDECIDED: high, mid or low   (95% confidence, items like these)",
            "After all 3 items high leads by 0.4; another may be much better.",
        ],
        [
            "Next: more items.",
            "9 evaluations in 3 rounds.",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "ran out: stream": (
        of(items=list("abc").__iter__),
        [
            "UNDECIDED: high, mid or low   (95% confidence, items like these)",
            "No items left: high leads by 0.4; another may be much better.",
        ],
        [
            "Next: more items.",
            "9 evaluations in 3 rounds.",
            "Holds if scores lie in [0, 1] and items are independent and alike.",
        ],
    ),
    "ran out: at once": (
        of(items=().__iter__),
        ["NO ANSWER: the items ran out before the first round was complete"],
        ["0 evaluations in 0 rounds."],
    ),
    "running": (
        ask_again,
        [
            "UNDECIDED: high or low   (95% confidence, items like these)",
            "So far: high leads by 0.7; the other may be much better.",
        ],
        ["10 evaluations in 4 rounds.", "Holds if scores lie in [0, 1] and these items are a random sample."],
    ),
    "running: nothing": (
        lambda race: bestarm.Race(["a", "b"], items=range(9), bounds=(0, 1)).result(),
        ["NO ANSWER: the first round is not complete yet"],
        ["2 evaluations in 0 rounds."],
    ),
    "outage": (
        of(evaluate=dead_at_five, items=range(50).__iter__, on_error="disqualify"),
        [
            "UNDECIDED: high, mid or low   (95% confidence, items like these)",
            "Stopped by failures: high leads by 0.1; another may be much better.",
        ],
        [
            "Warning: no candidate could be evaluated in round 6 (evaluate('low', 5) failed: OSError: disk full).",
            "Nobody was disqualified for that: the round is evaluated again when the race is continued.",
            (
                "If no arm can ever be evaluated on its item, begin another race with on_error='worst', or "
                "without the item."
            ),
            "Next: continue the race, if it was given a store.",
            "18 evaluations in 5 rounds.",
            "Holds if scores lie in [0, 1] and items are independent and alike.",
        ],
    ),
    "outage: at once": (
        of(evaluate=dead, on_error="disqualify"),
        [
            (
                "NO ANSWER: every evaluation of round 1 failed (the first: evaluate('low', 459) failed: "
                "OSError: disk full)"
            )
        ],
        [
            ("Warning: no candidate could be evaluated in round 1 (evaluate('low', 459) failed: OSError: disk full)."),
            "Nobody was disqualified for that: the round is evaluated again when the race is continued.",
            (
                "If no arm can ever be evaluated on its item, begin another race with on_error='worst', or "
                "without the item."
            ),
            "3 evaluations in 0 rounds.",
        ],
    ),
    "breakdown": (
        of(evaluate=dead, on_error="worst", max_evaluations=30),
        ["NO ANSWER: 30 of 30 evaluations failed (the first: evaluate('low', 459) failed: OSError: disk full)"],
        [
            (
                "30 evaluations failed: low (10 counted as worst), mid (10 counted as worst) and high (10 "
                "counted as worst)."
            ),
            "30 evaluations in 10 rounds.",
        ],
    ),
    "some failed": (
        of(fails={"low": 2}, on_error="worst"),
        ["BEST: high   (95% confidence, items like these)", "mid is 0.4 behind, low 0.7."],
        [
            "1 evaluation failed: low (1 counted as worst).",
            "37 of 3,000 evaluations (99% saved).",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "disqualified": (
        of(fails={"high": 12}, on_error="disqualify"),
        ["BEST OF THE OTHER 2: mid   (95% confidence, items like these, high failed)", "low is 0.3 behind."],
        [
            (
                "Warning: high was disqualified in round 12 (evaluate('high', 674) failed: OSError: disk full): "
                "nothing is known about how good it is."
            ),
            "It had eliminated low, which may be better than mid.",
            "33 of 3,000 evaluations (99% saved).",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "disqualified: two": (
        of(fails={"high": 1, "low": 1}, on_error="disqualify"),
        ["BEST OF THE OTHER 1: mid   (95% confidence, items like these, 2 arms failed)"],
        [
            (
                "Warning: low was disqualified in round 1 (evaluate('low', 459) failed: OSError: disk full): "
                "nothing is known about how good it is."
            ),
            (
                "Warning: high was disqualified in round 1 (evaluate('high', 459) failed: OSError: disk full): "
                "nothing is known about how good it is."
            ),
            "3 of 3,000 evaluations (99% saved).",
            "Holds if scores lie in [0, 1] and these items are a random sample.",
        ],
    ),
    "contradiction": (
        of(evaluate=turning, arms=range(3), items=range(500).__iter__, bounds=None, algorithm=KEPT),
        [
            "BEST: 0   (90% confidence, items like these)",
            "1 is 3.63 ahead on the items that both share, 2 is 0.00 behind.",
        ],
        [
            (
                "Warning: the differences between 1 and 0 take only 1 distinct value (up to round 3), those "
                "between 2 and 1 take only 2 distinct values (up to round 41): the guarantee does not cover "
                "them; give the bounds that scores lie in."
            ),
            ("Warning: the evidence contradicts itself: in round 41 every candidate was beaten, including 0 (by 1)."),
            "123 evaluations in 41 rounds.",
            "Holds if differences are nearly Gaussian and items are independent and alike.",
        ],
    ),
    "no guarantee": (
        of(bounds=None, algorithm=Playing(FarBehind)),
        ["BEST: high   (no guarantee, items like these)", "mid is 0.4 behind, low 0.7."],
        ["30 of 3,000 evaluations (99% saved)."],
    ),
    "no guarantee: undecided": (
        of(bounds=None, algorithm=Playing(FarBehind), max_evaluations=12),
        [
            "UNDECIDED: high, mid or low   (no guarantee, items like these)",
            "Budget spent: high leads by 0.4; another may be much better.",
        ],
        ["Next: a larger budget.", "12 evaluations in 4 rounds."],
    ),
    "known variances": (
        of(items=None, bounds=None, algorithm=LUCB(0.1, variances=0.03)),
        ["BEST: high   (90% confidence, all seeds)", "mid is 0.4 behind, low 0.7."],
        [
            "55 evaluations in 27 rounds.",
            (
                "Holds if the items are independent of each other and the scores of each arm are Gaussian or "
                "sub-Gaussian, with at most the variance given."
            ),
        ],
    ),
    "Gaussian": (
        of(evaluate=lambda arm, item: table()[item, arm], arms=range(3), items=range(300), bounds=None),
        ["BEST: 0   (95% confidence, items like these)", "1 is 0.107 behind, 2 0.221."],
        [
            "30 of 900 evaluations (97% saved).",
            "Holds if differences are nearly Gaussian and these items are a random sample.",
        ],
    ),
    "symmetric": (
        of(
            evaluate=lambda arm, item: table()[item, arm],
            arms=range(3),
            items=range(300),
            bounds=None,
            comparison=SymmetricBetting(),
        ),
        ["BEST: 0   (95% confidence, items like these)", "1 is 0.109 behind, 2 0.224."],
        [
            "31 of 900 evaluations (97% saved).",
            "Holds if differences are symmetric and these items are a random sample.",
        ],
    ),
    "unit": (
        of(
            evaluate=lambda arm, item: 0.004 * table()[item, arm],
            arms=range(3),
            items=range(300),
            bounds=None,
            unit="s",
            lower_is_better=True,
        ),
        ["BEST: 2   (95% confidence, items like these, lower is better)", "1 is 0.458 ms behind, 0 0.885 ms."],
        [
            "30 of 900 evaluations (97% saved).",
            "Holds if differences are nearly Gaussian and these items are a random sample.",
        ],
    ),
}


def raced(race: Race, case: str) -> Any:
    with warnings.catch_warnings(action="ignore"):  # what they warn of is said below the table too
        return CASES[case][0](race)


@pytest.mark.parametrize("case", CASES)
def test_first_lines_remarks_and_small_print(race: Race, case: str) -> None:
    result = raced(race, case)
    _, verdict, rest = CASES[case]
    assert result.verdict.splitlines() == verdict
    said = [part for part in str(result).split("\n\n") if not part.startswith((" arm", " #", "  #"))]
    assert " ".join(said[0].split()) == " ".join(" ".join(verdict).split())
    last = " ".join(said[-1].split())
    assert last.replace(" More: explain(), --explain.", "") == " ".join(rest)
    assert last.count(" More: explain(), --explain.") == 1


@pytest.mark.parametrize("case", CASES)
def test_no_line_is_wider_than_80_columns_and_first_lines_of_short_names_need_no_break(race: Race, case: str) -> None:
    result = raced(race, case)
    assert max(map(len, str(result).splitlines())) <= 80
    assert len(result.verdict.splitlines()[0]) <= 80 or "long" in case or result.leader is None or result.breakdown
    assert str(result).startswith(result.verdict.splitlines()[0][:70])


@pytest.mark.parametrize("case", ["answered", "undecided: many", "leaderboard: undecided", "disqualified"])
@pytest.mark.parametrize("columns", ["40", "160"])
def test_nothing_depends_on_the_terminal(race: Race, case: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = raced(race, case)
    usual = (result.verdict, str(result), result.table(), result.explain(), result.to_json())
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert (result.verdict, str(result), result.table(), result.explain(), result.to_json()) == usual


@pytest.mark.parametrize("case", CASES)
def test_the_text_form_has_no_side_effects(race: Race, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = raced(race, case)
    capsys.readouterr()
    before = result.to_json()
    first = str(result)
    assert (str(result), result.to_json()) == (first, before)
    assert capsys.readouterr() == ("", "")


def test_a_failure_is_named_where_it_ended_the_race(race: Race) -> None:
    for case in ("outage", "outage: at once", "breakdown", "disqualified"):
        assert "OSError: disk full" in " ".join(str(raced(race, case)).split())


@pytest.mark.parametrize("wide", ["長い名前の腕", "e\u0301" * 30, "long " * 40], ids=["wide", "combining", "long"])
def test_verdicts_of_any_names_are_broken_at_80_columns(race: Race, wide: str) -> None:
    names = [wide * 3 + str(k) for k in range(3)]
    for budget in (None, 12):
        result = race(lambda arm, item: 0.1 * names.index(arm) ** 2, names, max_evaluations=budget)
        assert max(map(cell_len, str(result).splitlines())) <= 80


# --- found by an attack ----------------------------------------------------------------------------------------------


def test_a_tie_for_the_first_rank_of_a_leaderboard_is_level_and_counts_as_a_rival() -> None:
    rng = np.random.default_rng(4)
    scores = np.round(rng.random(60), 1)
    columns = [scores, rng.permutation(scores), np.round(rng.random(60) * 0.9, 1)]
    result = bestarm.race_table(np.column_stack(columns), arms=list("abc"))
    assert len(result.candidates) == 3
    assert result.verdict.splitlines()[1].startswith("a and b are level; another may be up to ")


def test_a_leader_that_is_behind_on_shared_items_is_said_to_be() -> None:
    rows = np.round(np.random.default_rng(5).random((60, 4)), 1)
    for seed in range(40):
        second = bestarm.race_table(rows, seed=seed, criterion="wins", max_evaluations=24).verdict.splitlines()[1]
        assert "leads by -" not in second
        assert " may be " in second


@pytest.mark.parametrize("unit", [1e-13, 1.0, 1e6])
def test_an_exact_answer_does_not_depend_on_the_unit_of_the_scores(unit: float) -> None:
    rows = np.random.default_rng(0).random((60, 3))
    rows[:, 1] = rows[:, 0] + 1e-6
    result = bestarm.race_table(unit * rows[:, :2], arms=["a", "b"], target="items")
    assert result.candidates == ("b",)


def test_bounds_are_told_apart_in_the_small_print() -> None:
    rows = 1e8 + np.random.default_rng(0).random((60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bestarm.AssumptionWarning)
        result = bestarm.race_table(rows, bounds=(1e8, 1e8 + 10))
    assert "lie in [100000000, 100000010]" in str(result)


def test_by_wins_the_closest_are_named_and_the_others_at_least(race: Race) -> None:
    result = race(evaluate=level_of(6, 0.1), arms=range(6), criterion="wins", bounds=None)
    second = result.verdict.splitlines()[1]
    assert second == "Items won minus lost: 100% against 1, 100% against 2, at least 100% against the other 3."
