"""What pairing was worth: the estimate against a slow reference, and against races on different items."""

import math
import statistics
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import HoeffdingRace, PairwiseBAI
from bestarm.comparisons import Betting, EmpiricalBernstein, LeaderBetting, StudentMixture
from bestarm.comparisons.leader_betting import BETS, PAIRS, WEIGHTS
from bestarm.result.page import page, pairing

Table = NDArray[np.float64]

pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")

STEP = 1.03  # the rounds tried are at most this far apart


def correlated(n_rows: int, means: list[float], correlation: float, seed: int) -> Table:
    """Gaussian scores of variance one."""
    luck = np.random.default_rng(seed)
    shared, own = luck.standard_normal((n_rows, 1)), luck.standard_normal((n_rows, len(means)))
    return np.array(means) + math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own


def raced(table: Table, **options: Any) -> bestarm.RaceResult[int]:
    """A race on these rows, one after the other: a stream, so that nothing limits the rounds."""
    arms = range(table.shape[1])
    usual: dict[str, Any] = {"items": iter(range(len(table))), "progress": False}
    return bestarm.race(lambda arm, item: float(table[item, arm]), arms=arms, **usual | options)


def slow_rounds(rule: PairwiseBAI, ahead: list[float], behind: list[float], shift: float, n_arms: int) -> int:
    """The round in which the expected course of the test crosses, round by round."""
    lead = statistics.fmean(ahead) - statistics.fmean(behind) + shift
    test = rule.comparison
    if isinstance(test, Betting):
        bets, weights, threshold = test.bets, test.weights or (), (n_arms - 1) / rule.delta
    elif isinstance(test, LeaderBetting):  # without what the bets on pairs add, and without their share of the wealth
        bets, weights, threshold = tuple(BETS), tuple(WEIGHTS), 1 / ((1 - PAIRS) * rule.delta)
    for n in range(2, 10**6):
        if isinstance(test, Betting | LeaderBetting):
            if n == 2:
                growth = [
                    statistics.fmean(math.log(1 + bet * (a - b + shift)) for a in ahead for b in behind) for bet in bets
                ]
            wealth = sum(w * math.exp(n * rate) for w, rate in zip(weights, growth, strict=True))
            if wealth >= threshold:
                return n
        else:
            slopes, offsets = test.boundary(np.array([float(n)]), n_arms, rule.delta)  # type: ignore[attr-defined]
            sd = math.sqrt(statistics.variance(ahead) + statistics.variance(behind))
            if math.isfinite(slopes[0]) and lead > slopes[0] * sd + offsets[0]:
                return n
    raise AssertionError("the test does not cross")


RULES: dict[str, PairwiseBAI] = {
    "student": PairwiseBAI(0.05),
    "student looks at once": PairwiseBAI(0.05, comparison=StudentMixture(min_rounds=2)),
    "student with a zone": PairwiseBAI(0.1, indifference_zone=0.2),
    "betting": PairwiseBAI(0.05, comparison=Betting()),
    "betting on leaders": PairwiseBAI(0.05, comparison=LeaderBetting()),
    "bernstein": PairwiseBAI(0.1, comparison=EmpiricalBernstein()),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", [0, 1])
def test_two_arms_are_told_apart_in_the_round_of_the_slow_reference(name: str, seed: int) -> None:
    rule = RULES[name]
    table = correlated(3000, [0.0, 1.0], 0.8, seed)
    if rule.comparison.bounds is not None:
        table = 1 / (1 + np.exp(-table))
    result = raced(table, algorithm=rule)
    behind, ahead = result.scores.T.tolist()
    slow = slow_rounds(rule, ahead, behind, rule.indifference_zone, 2)
    assert len(ahead) <= 64 or not isinstance(rule.comparison, Betting | LeaderBetting)  # more are taken in groups
    found = pairing(result)
    assert 2 * slow <= found.without <= 2 * STEP * slow + 2
    assert (found.at_least, found.with_pairing) == (False, result.n_evaluations)


def test_lower_is_better_and_groups_of_many_scores_change_next_to_nothing() -> None:
    table = 1 / (1 + np.exp(-0.5 * correlated(3000, [0.0, 0.2, 0.3], 0.9, 4)))
    up, down = (
        pairing(raced(scores, bounds=(0, 1), lower_is_better=lower))
        for scores, lower in ((table, False), (1.0 - table, True))
    )
    assert down.without == pytest.approx(up.without, rel=1e-12)
    result = raced(table, bounds=(0, 1))
    assert min(result.counts) > 100
    rule = PairwiseBAI(0.05, comparison=LeaderBetting())
    columns = [[x for x in column if not math.isnan(x)] for column in result.scores.T.tolist()]
    slow = [slow_rounds(rule, columns[2][: len(columns[k])], columns[k], 0.0, 3) for k in range(2)]
    assert sum(slow) + max(slow) == pytest.approx(up.without, rel=0.05)


@pytest.mark.parametrize("min_rounds", [10, 30])
def test_arms_that_leave_at_the_first_look_are_not_multiplied(min_rounds: int) -> None:
    """All leave in the round of the first look, and would have done so on different items too."""
    result = raced(correlated(200, [0.0, 10.0, 20.0], 0.99, 0), min_rounds=min_rounds)
    found = pairing(result)
    assert result.n_evaluations == 3 * min_rounds
    assert 3 * min_rounds <= found.without <= 3 * min_rounds * STEP
    assert f"about {found.without:,.0f} (" in " ".join(page(result).split())


CASES: dict[str, tuple[list[float], float]] = {
    "leave at the first look": ([0.0, 1.0, 2.0, 3.0], 0.98),
    "half": ([0.0, 0.3, 0.6], 0.5),
    "independent": ([0.0, 0.3, 0.6], 0.0),
}


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_is_that_of_races_on_different_items(name: str) -> None:
    means, correlation = CASES[name]
    said, true = [], []
    for seed in range(40):
        said.append(pairing(raced(correlated(3000, means, correlation, seed))).without)
        true.append(raced(correlated(3000, means, 0.0, 1000 + seed)).n_evaluations)
    assert 0.6 < statistics.median(said) / statistics.median(true) < 1.6


def test_no_arm_needs_more_than_all_items_of_a_pool() -> None:
    luck = np.random.default_rng(3)
    hard = luck.random((200, 1))
    table = (hard + np.array([0.0, 0.02, 0.04]) > 0.5).astype(float)  # different items would never tell them apart
    result = bestarm.race_table(table, arms=["a", "b", "c"])
    found = pairing(result)
    assert found.with_pairing < found.without <= 3 * 200
    assert not found.at_least
    gaussian = bestarm.race_table(correlated(200, [0.0, 0.05, 0.1], 0.99, 1), comparison=StudentMixture())
    assert (gaussian.reason, pairing(gaussian).without) == ("decided", 3 * 200)


def test_without_an_answer_it_is_a_lower_bound() -> None:
    result = raced(correlated(3000, [0.0, 3.0, 3.0], 0.9, 0), max_evaluations=300)
    assert (result.answered, len(result.candidates)) == (False, 2)
    found = pairing(result)
    assert found.at_least
    assert found.without >= result.n_evaluations - 3
    assert f"at least {found.without:,.0f} (" in " ".join(page(result).split())


def test_nothing_is_said_where_nobody_has_left_or_pairing_does_not_matter() -> None:
    nobody = raced(correlated(3000, [0.0, 0.0], 0.9, 0), max_evaluations=40)
    alone = raced(correlated(3000, [0.0, 3.0], 0.9, 0), algorithm=HoeffdingRace(0.05, variances=1.0))
    for result in (nobody, alone):
        assert math.isnan(pairing(result).without)
        assert "with different items" not in page(result)
    assert alone.answered


def test_within_epsilon_the_tolerance_counts() -> None:
    table = correlated(3000, [0.0, 0.0], 0.9, 5)
    result = raced(table, epsilon=0.5)
    assert result.reason == "within epsilon"
    ahead, behind = (result.scores[:, arm].tolist() for arm in (result.best, 1 - (result.best or 0)))
    slow = slow_rounds(PairwiseBAI(0.05), ahead, behind, 0.5, 2)
    assert 2 * slow <= pairing(result).without <= 2 * STEP * slow + 2


def test_a_disqualified_arm_counts_with_the_rounds_that_it_had() -> None:
    table = correlated(3000, [0.0, 3.0, 5.0], 0.9, 5)

    def score(arm: int, item: int) -> float:
        if arm == 1 and item == 7:
            raise ValueError("no")
        return float(table[item, arm])

    call: dict[str, Any] = {"arms": range(3), "items": iter(range(3000)), "progress": False, "on_error": "disqualify"}
    result = bestarm.race(score, **call)
    others = pairing(result).without - result.counts[1]
    assert result[1].status == "disqualified"
    assert 2 * 10 <= others <= 2 * 12
