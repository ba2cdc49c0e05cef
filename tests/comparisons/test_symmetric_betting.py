"""Bets on the leader so far for symmetric differences: decisions, levels, power, failures, and what they say."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import Game, PairwiseBAI
from bestarm.arms import equicorrelated_arms
from bestarm.comparisons import StudentMixture, SymmetricBetting
from bestarm.comparisons.symmetric_betting import EFFECTS, SymmetricEvidence
from games import intervals_of, regret_of
from small_race import run
from statistics_helpers import contradicts

Array = NDArray[np.float64]
Law = Callable[[np.random.Generator, int, int], Array]
ALONE = SymmetricBetting(student=0)


def start(n_arms: int, comparison: SymmetricBetting | None = None, delta: float = 0.05, **goal: Any) -> Game:
    return PairwiseBAI(delta, comparison=comparison or SymmetricBetting(), **goal).start(n_arms)


def evidence_of(game: Game) -> SymmetricEvidence:
    evidence: SymmetricEvidence = game._evidence  # type: ignore[attr-defined]
    return evidence


def was_beaten(game: Game, arm: int) -> bool:
    return bool(evidence_of(game).board.beaten_round[arm] > 0)


# --- decisions --------------------------------------------------------------------------------------------------------


def test_a_constant_lead_is_found_when_the_wealth_has_grown_enough() -> None:
    """In round 2 the scale is the first difference, from there on it is nothing: every bet wins all that it can."""
    second = np.mean(1 + 0.9 * np.tanh(EFFECTS / 0.9))
    rounds = 2 + math.ceil(math.log(1 / (0.9 * 0.05) / second) / math.log(1.9))
    game = start(2)
    game.play(np.tile([0.0, 1.0], (20, 1)))
    (out,) = game.eliminations
    assert (out.arm, out.by, out.round) == (0, 1, rounds)
    assert out.margin == pytest.approx(math.log(second * 1.9 ** (rounds - 2) * 0.9 * 0.05))


def test_a_long_game_is_the_same_in_blocks_as_round_by_round() -> None:
    """Whole chunks of rounds are tried below the floor of the boundary, and taken back if somebody is out."""
    rng = np.random.default_rng(3)
    rows = rng.normal([0.0, 0.03, 0.0], 1.0, (30_000, 3))
    whole, single = start(3), start(3)
    used = whole.play(rows)
    for start_of_block in range(0, used, 777):
        single.play(rows[start_of_block : min(used, start_of_block + 777)])
    assert used > 3 * 2048
    assert whole.eliminations == single.eliminations
    assert np.array_equal(evidence_of(whole).rivals.wealth, evidence_of(single).rivals.wealth)


# --- levels -----------------------------------------------------------------------------------------------------------


def gaussian(rng: np.random.Generator, n: int, K: int) -> Array:
    return np.asarray(rng.standard_normal((n, K)) + rng.standard_normal((n, 1)))


def student(rng: np.random.Generator, n: int, K: int) -> Array:
    return np.asarray(rng.standard_t(3, (n, K)) / math.sqrt(3), dtype=np.float64)


def cauchy(rng: np.random.Generator, n: int, K: int) -> Array:
    return rng.standard_cauchy((n, K))


def lognormal(rng: np.random.Generator, n: int, K: int) -> Array:
    return rng.lognormal(0.0, 2.0, (n, K))


def signs(rng: np.random.Generator, n: int, K: int) -> Array:
    """A constant arm against independent coins: discrete differences, which a Student test must leave alone."""
    rows = 2.0 * rng.integers(0, 2, (n, K)).astype(np.float64) - 1.0
    rows[:, 0] = 0.0
    return rows


def rounded_signs(rng: np.random.Generator, n: int, K: int) -> Array:
    """The same, with digits that differences lose by rounding."""
    return signs(rng, n, K) / 10 + rng.standard_normal((n, 1))


LAWS: dict[str, Law] = {
    "Gaussian": gaussian,
    "Cauchy": cauchy,
    "exchangeable lognormal": lognormal,
    "signs": signs,
    "rounded signs": rounded_signs,
}
ARMS = (2, 10, 50)
CELLS = len(LAWS) * len(ARMS)
GAMES, ATTACKS, ROUNDS, DELTA = 250, 120, 120, 0.1


def errors(law: Law, n_arms: int, comparison: SymmetricBetting, games: int = GAMES, **goal: Any) -> int:
    """In how many games of equal arms the first was ever out."""
    wrong = 0
    for seed in range(games):
        game = start(n_arms, comparison, DELTA, **goal)
        game.play(law(np.random.default_rng([seed, n_arms]), ROUNDS, n_arms))
        wrong += was_beaten(game, 0)
    return wrong


@pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")
@pytest.mark.parametrize("n_arms", ARMS)
@pytest.mark.parametrize("law", LAWS)
def test_an_arm_as_good_as_all_others_is_out_with_probability_delta_at_most(law: str, n_arms: int) -> None:
    assert not contradicts(errors(LAWS[law], n_arms, SymmetricBetting(min_rounds=2)), GAMES, DELTA, CELLS)


def test_the_level_is_used_and_skew_voids_it() -> None:
    def rare_wins(rng: np.random.Generator, n: int, K: int) -> Array:
        rows = 0.1 * rng.standard_normal((n, K))
        rows[:, 0] += np.where(rng.random(n) < 0.02, 49.0, -1.0)
        return rows

    assert errors(gaussian, 10, SymmetricBetting()) > 0.01 * GAMES
    assert contradicts(errors(rare_wins, 10, SymmetricBetting()), GAMES, DELTA, CELLS)


@pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")
def test_without_waiting_for_ten_values_the_student_part_errs_on_signs() -> None:
    """The negative control: all of delta on a Student mixture that looks at any pair."""
    wrong = 0
    for seed in range(GAMES):
        game = PairwiseBAI(DELTA, comparison=StudentMixture(min_rounds=2)).start(50)
        game.play(signs(np.random.default_rng([seed, 50]), ROUNDS, 50))
        wrong += bool(game._evidence.board.beaten_round[0] > 0)  # type: ignore[attr-defined]
    assert contradicts(wrong, GAMES, DELTA, CELLS)
    assert not contradicts(errors(signs, 50, SymmetricBetting(student=0.9, min_rounds=2)), GAMES, DELTA, CELLS)


# --- few distinct differences -----------------------------------------------------------------------------------------


def leads_of(values: int) -> Array:
    """Arm 1 is far ahead of arm 0, by differences that take so many values."""
    return np.column_stack([np.zeros(40), 10.0 + 0.01 * (np.arange(40) % values)])


@pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")
@pytest.mark.parametrize(("values", "judged"), [(1, 28), (2, None), (9, None), (10, 12), (40, 12)])
def test_the_student_part_judges_differences_of_ten_values_or_of_one_for_long(values: int, judged: int | None) -> None:
    """A constant waits until ``2^(n-1)`` reaches the threshold, here 10^8; few values leave it to the bets."""
    game = start(2, SymmetricBetting(student=0.5), 2e-8)
    while not game.finished:
        assert game.n_rounds == 0 or game.lead_bound(1, 0) == -np.inf
        game.play(leads_of(values)[game.n_rounds :][:1])
    assert game.candidates == (1,)
    assert game.n_rounds == (31 if judged is None else judged)
    assert (game.lead_bound(1, 0) or 0.0) > 0 if judged else game.lead_bound(1, 0) == -np.inf


def test_differences_that_were_the_same_for_long_must_still_be() -> None:
    """The first 500 rounds are looked at for values, all of them for a constant."""
    rows = np.random.default_rng(0).standard_normal((700, 2))
    rows[:600, 1] = rows[:600, 0]
    rows[600:, 1] = rows[600:, 0] + np.tile([1.0, -1.0], 50)
    game = start(2)
    game.play(rows[:600])
    assert game.lead_bound(1, 0) == pytest.approx(0.0, abs=1e-12)
    game.play(rows[600:])
    assert game.lead_bound(1, 0) == -np.inf


def test_copies_of_an_arm_are_found_to_be_within_epsilon_in_the_round_that_symmetry_allows() -> None:
    rows = np.repeat(np.random.default_rng(0).standard_normal((40, 1)), 5, axis=1)
    game = start(5, epsilon=0.1)
    game.play(rows)
    assert game.reason == "within epsilon"
    assert game.n_rounds == 1 + math.ceil(math.log2(4 / (0.1 * 0.05)))
    assert regret_of(game) == pytest.approx(0.0, abs=1e-12)


# --- power ------------------------------------------------------------------------------------------------------------


def test_it_needs_fewer_queries_than_the_student_mixture() -> None:
    arms = equicorrelated_arms(10, 0.5)
    ours, theirs = (
        bestarm.simulate(PairwiseBAI(0.05, comparison=comparison), arms, repetitions=60, seed=2, progress=False)
        for comparison in (SymmetricBetting(), StudentMixture())
    )
    assert ours.mean_queries < 0.8 * theirs.mean_queries
    assert ours.error_rate <= 0.05


@pytest.mark.parametrize("law", [gaussian, student])
def test_a_small_lead_is_found_in_the_end(law: Law) -> None:
    """The smallest bet alone, 0.015, would be too large for leads of less than half of it."""
    rows = np.array([0.0, 0.01, 0.0]) + law(np.random.default_rng(5), 600_000, 3)
    game = start(3, ALONE)
    game.play(rows)
    assert game.candidates == (1,)


# --- zone, epsilon, bounds --------------------------------------------------------------------------------------------


def test_under_the_promise_of_a_zone_the_best_arm_stays() -> None:
    def led(rng: np.random.Generator, n: int, K: int) -> Array:
        rows = gaussian(rng, n, K)
        rows[:, 0] += 0.3
        return rows

    assert not contradicts(errors(led, 10, SymmetricBetting(), indifference_zone=0.3), GAMES, DELTA, CELLS)
    assert contradicts(errors(gaussian, 10, SymmetricBetting(), indifference_zone=0.3), GAMES, DELTA, CELLS)


@pytest.mark.parametrize("comparison", [SymmetricBetting(), ALONE])
def test_with_a_zone_equal_arms_end_and_nothing_is_held_against_the_leader(comparison: SymmetricBetting) -> None:
    rng = np.random.default_rng(8)
    game = start(6, comparison, indifference_zone=0.3)
    while not game.finished:
        game.tell(gaussian(rng, 1, 6)[0, game.ask()])
        assert evidence_of(game).rivals.total[game.best] <= 1.0
    assert game.reason == "decided"


def test_the_answer_is_within_epsilon_of_the_best() -> None:
    wrong, ended = 0, 0
    for seed in range(100):
        rows = np.array([0.5, 0.45, 0.4, 0.0, -0.3]) + gaussian(np.random.default_rng(seed), 3000, 5)
        game = start(5, delta=DELTA, epsilon=0.3)
        game.play(rows)
        wrong += game.best >= 3
        ended += game.reason == "within epsilon"
    assert ended > 50
    assert not contradicts(wrong, 100, DELTA, CELLS)


def test_bounds_rest_on_the_share_of_the_student_mixture() -> None:
    rows = gaussian(np.random.default_rng(1), 300, 4)
    game = start(4, SymmetricBetting(student=0.2), 0.05)
    game.play(rows)
    own = PairwiseBAI(0.2 * 0.05, comparison=StudentMixture()).start(4)
    own.play(rows)
    whole = PairwiseBAI(0.05, comparison=StudentMixture()).start(4)
    whole.play(rows)
    assert game.n_rounds == own.n_rounds == whole.n_rounds == 300
    assert regret_of(game) == regret_of(own)
    assert np.array_equal(intervals_of(game).low, intervals_of(whole).low)  # a statement of its own


def test_without_the_student_mixture_nothing_is_said_about_leads() -> None:
    game = start(3, ALONE)
    game.play(gaussian(np.random.default_rng(1), 50, 3))
    assert (game.regret_bound, game.intervals(), game.lead(0, 1)) == (None, None, None)
    with pytest.raises(ValueError, match=r"^epsilon needs a comparison that supports it, got epsilon=0\.1 with Sym"):
        PairwiseBAI(0.05, comparison=ALONE, epsilon=0.1)


def test_regret_bounds_hold_at_all_times() -> None:
    wrong = 0
    means = np.array([0.3, 0.2, 0.0, -0.5])
    for seed in range(200):
        game = start(4, SymmetricBetting(student=0.5), DELTA)
        rows, bad = means + gaussian(np.random.default_rng(seed), 200, 4), False
        while not game.finished and game.n_rounds < 200:
            game.play(rows[game.n_rounds :][:4])
            bad |= regret_of(game) < means[0] - means[game.best] or 0 not in game.candidates
        wrong += bad
    assert not contradicts(wrong, 200, DELTA, CELLS)


# --- arms that fail when they would lose ------------------------------------------------------------------------------


def attacked(seed: int, n_arms: int) -> bool:
    """Whether the first of equal arms is ever out if whoever is bet on against it fails where it would lose to it."""
    game, rng = start(n_arms, ALONE, DELTA), np.random.default_rng(seed)
    while not game.finished and game.n_rounds < 80 and 0 in game.candidates:
        row, rival = rng.standard_normal(n_arms), int(evidence_of(game).rivals.rival[0])
        asked = game.ask().tolist()
        if rival in asked and row[rival] < row[0] and len(game.candidates) > 2:
            game.disqualify(rival)
        game.tell(row[game.ask()])
    return was_beaten(game, 0)


@pytest.mark.parametrize("n_arms", [10, 60])
def test_arms_that_fail_when_they_would_lose_put_nobody_out(n_arms: int) -> None:
    assert not contradicts(sum(attacked(seed, n_arms) for seed in range(ATTACKS)), ATTACKS, DELTA, CELLS)


def test_if_the_bets_were_closed_up_they_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: what was bet on an arm that fails is bet on the next one."""

    def close_up(evidence: SymmetricEvidence, arm: int) -> None:
        rivals, board = evidence.rivals, evidence.board
        means = dict(zip(board.arms.tolist(), board.means.tolist(), strict=True))
        standing = [i for i in board.arms[~board.is_out] if i != arm]
        for i in np.flatnonzero(rivals.rival == arm):
            rivals.rival[i] = max((j for j in standing if j != i), key=means.__getitem__)

    monkeypatch.setattr(SymmetricEvidence, "discard_evidence", close_up)
    assert contradicts(sum(attacked(seed, 60) for seed in range(ATTACKS)), ATTACKS, DELTA, CELLS)


# --- extreme numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [2.0**490, 2.0**-480, 1.0])
def test_the_unit_of_scores_does_not_matter(unit: float) -> None:
    rows = np.array([0.0, 0.5, 0.2, 0.0]) + gaussian(np.random.default_rng(4), 400, 4)
    expected, game = start(4), start(4)
    expected.play(rows)
    game.play(rows * unit)
    assert expected.finished
    assert [(one.arm, one.round, one.by) for one in game.eliminations] == [
        (one.arm, one.round, one.by) for one in expected.eliminations
    ]


def test_scores_of_any_size_make_no_warnings_of_floating_point() -> None:
    start(3).play(np.random.default_rng(0).standard_normal((30, 3)))  # slopes are kept; their terms may vanish
    for row in ([1e150, -1e150, 0.0], [1e-150, 0.0, -1e-150], [1e150, 1e150, 1e150]):
        game = start(3)
        with np.errstate(all="raise"):
            game.play(np.tile(row, (30, 1)) * np.linspace(0.5, 1.0, 30)[:, None])
        assert len(game.candidates) == (3 if len(set(row)) == 1 else 1)
        assert np.isfinite(evidence_of(game).rivals.total).all()


def test_arms_that_are_always_the_same_stay() -> None:
    game = start(4)
    game.play(np.full((200, 4), 0.7))
    assert game.candidates == (0, 1, 2, 3)
    assert evidence_of(game).rivals.total.tolist() == pytest.approx([1.0] * 4)


# --- settings, races --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("parameter", "value"), [("student", 1.0), ("student", -0.1), ("min_rounds", 1)])
def test_settings_that_are_none_are_refused(parameter: str, value: Any, refused: Any) -> None:
    with refused(parameter, value):
        SymmetricBetting(**{parameter: value})


def test_settings_are_printed_as_the_shortest_call() -> None:
    assert repr(SymmetricBetting()) == "SymmetricBetting()"
    assert repr(SymmetricBetting(student=0, min_rounds=2)) == "SymmetricBetting(student=0, min_rounds=2)"


def test_a_race_says_what_it_rests_on(tmp_path: Any) -> None:
    result = run(bounds=None, items=None, comparison=SymmetricBetting(), store=tmp_path / "race.db")
    assert result.best == "high"
    assert str(result).endswith("Holds if differences are symmetric.")
    assert "if the differences are symmetric about their means" in result.explain()
    again = bestarm.load_result(tmp_path / "race.db")
    assert (again.verdict, again.records) == (result.verdict, result.records)
