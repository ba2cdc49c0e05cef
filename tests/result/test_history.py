"""The evidence against each arm agrees with the decisions, is the wealth of the bets, and is kept by a result."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bestarm
from bestarm.algorithms import LUCB, ConvexBAI, PairwiseBAI
from bestarm.comparisons import Betting, LeaderBetting, Portfolio, StudentMixture, SymmetricBetting, Wins
from subjects import SUBJECTS

Race = Callable[..., Any]
Rows = NDArray[np.float64]
WITH_EVIDENCE = {name: one for name, one in SUBJECTS.items() if not name.startswith("LUCB")}
SLOW = ("Bernstein", "VarianceRace, bounded", "each arm", "Portfolio, kept")  # need more rounds than these, or less
BETS = [name for name in WITH_EVIDENCE if any(word in name for word in ("Betting", "Wins", "Portfolio"))]


def rows_for(algorithm: Any, n_arms: int, n_rounds: int, rng: np.random.Generator) -> Rows:
    """Rewards with leads of many sizes and shared noise, within the bounds of a game if there are any."""
    bounds = algorithm.start(n_arms).bounds
    levels = rng.permutation(np.linspace(0.0, 1.0, n_arms) ** 2) * rng.choice([0.3, 1.0, 3.0])
    rewards = levels + rng.standard_normal((n_rounds, 1)) + 0.5 * rng.standard_normal((n_rounds, n_arms))
    if bounds is None:
        return np.asarray(rewards * rng.choice([0.1, 1.0]))  # known variances are small
    unit = np.clip(0.5 + 0.12 * (rewards - rewards.mean()), 0.0, 1.0)
    unit = np.round(unit * 64) / 64 if rng.random() < 0.5 else unit  # ties
    return np.asarray(bounds[0] + (bounds[1] - bounds[0]) * unit)


def games(name: str, seeds: int) -> Iterator[Any]:
    """Games of a subject, after each of their rounds."""
    subject = WITH_EVIDENCE[name]
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        n_arms = (3,) if "each arm" in name else subject.options.get("n_arms", (2, 5, 8))
        game = subject.algorithm.start(K := int(rng.choice(n_arms)))
        yield game
        for row in rows_for(subject.algorithm, K, subject.options.get("n_rounds", 250), rng):
            if game.finished:
                break
            game.tell(row[game.ask()])
            yield game


@pytest.mark.parametrize("name", WITH_EVIDENCE)
def test_who_crossed_the_line_is_out_in_that_round_and_nobody_else(name: str) -> None:
    n_out = 0
    for game in games(name, 3):
        evidence = game.evidence()
        assert evidence.shape == (game.n_arms,)
        assert ((evidence >= 0.0) & (evidence <= 1.0)).all()
        crossed = np.flatnonzero(evidence == 1.0).tolist()
        assert crossed == sorted(set(range(game.n_arms)) - set(game.candidates))
        n_out += sum(out.round == game.n_rounds for out in game.eliminations)
    assert n_out > 0 or any(word in name for word in SLOW)


@pytest.mark.parametrize("name", BETS)
def test_the_wealth_against_candidates_is_below_the_threshold_before_it_is_clipped(name: str) -> None:
    for game in games(name, 3):
        raw = game._evidence.shares()
        if game.contradiction is None:
            assert (raw[list(game.candidates)] < 1.0).all()


TINY = 1e-60
WEALTHS: dict[str, tuple[Callable[[float], Any], str]] = {
    "Betting": (lambda delta: PairwiseBAI(delta, comparison=Betting()), "unit"),
    "LeaderBetting": (lambda delta: PairwiseBAI(delta, comparison=LeaderBetting()), "unit"),
    "LeaderBetting, no pairs": (lambda delta: PairwiseBAI(delta, comparison=LeaderBetting(pairs=0)), "unit"),
    "Portfolio": (lambda delta: ConvexBAI(delta, comparison=Portfolio()), "unit"),
    "Wins": (lambda delta: PairwiseBAI(delta, comparison=Wins()), "unit"),
    "SymmetricBetting": (lambda delta: PairwiseBAI(delta, comparison=SymmetricBetting(student=0)), "any"),
}


@pytest.mark.parametrize("name", WEALTHS)
@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_evidence_is_wealth_whose_first_crossing_is_the_first_elimination(name: str, delta: float) -> None:
    """In a game with a tiny delta nobody leaves, so its wealth can be followed beyond the threshold of another game."""
    start, _ = WEALTHS[name]
    crossings = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        K = int(rng.integers(2, 7))
        rows = rows_for(start(delta), K, 150, rng)
        patient, usual = start(TINY).start(K), start(delta).start(K)
        assert (patient.evidence() / TINY <= 1.0 + 1e-9).all()
        for row in rows:
            patient.tell(row[patient.ask()])
            usual.tell(row[usual.ask()])
            assert len(patient.candidates) == K
            wealth = patient.evidence() / TINY
            crossed = np.flatnonzero(wealth >= 1.0 / delta).tolist()
            assert crossed == [out.arm for out in usual.eliminations]
            if crossed:
                crossings += 1
                break
            np.testing.assert_allclose(usual.evidence() / delta, wealth, rtol=1e-9)
    assert crossings >= 4


def test_rules_on_moments_say_how_far_an_arm_is_on_its_way_to_the_boundary() -> None:
    """A deficit of a share r of the boundary is delta to the power 1 - r squared: by hand, for two arms."""
    delta, rng = 0.05, np.random.default_rng(1)
    game: Any = PairwiseBAI(delta, comparison=StudentMixture(min_rounds=5)).start(2)
    rows = rng.normal([0.0, 0.25], 1.0, (60, 2))
    seen = 0
    for t, row in enumerate(rows, start=1):
        if game.finished:
            break
        game.tell(row[game.ask()])
        if t < 5:
            assert game.evidence() == pytest.approx([delta, delta])
            continue
        lead = float(np.mean(rows[:t, 1] - rows[:t, 0]))
        radius = lead - game.lead_bound(1, 0)  # of the test that would take out arm 0
        share = max(0.0, lead / radius)
        expected = min(1.0, delta ** (1.0 - min(1.0, share) ** 2))
        assert game.evidence()[0] == pytest.approx(1.0 if game.finished else expected, rel=1e-9)
        seen += lead > 0
    assert seen > 10


# --- as a result keeps it --------------------------------------------------------------------------------------------


def noisy(n_arms: int = 6, n_items: int = 2000) -> Rows:
    rng = np.random.default_rng(3)
    luck = 0.3 * rng.random((n_items, 1)) + 0.2 * rng.random((n_items, n_arms))
    return np.asarray(luck + np.linspace(0.0, 0.4, n_arms) ** 2)


RULES: dict[str, dict[str, Any]] = {
    "bounded": {},
    "items": {"target": "items"},
    "lower": {"lower_is_better": True},
    "Gaussian": {"bounds": None, "comparison": StudentMixture()},
    "symmetric": {"bounds": None, "comparison": SymmetricBetting()},
    "convex": {"algorithm": ConvexBAI(0.05)},
    "wins": {"bounds": None, "criterion": "wins"},
    "in flight": {"rounds_in_flight": 4},
    "budget": {"max_evaluations": 400},
    "groups": {"groups": [k // 2 for k in range(2000)], "target": "items"},
    "disqualified": {"on_error": "disqualify"},
}


@pytest.mark.parametrize("case", RULES)
def test_a_history_is_the_evidence_of_the_game_in_its_rounds(race: Race, case: str) -> None:
    table, calls = noisy(), list[int]()

    def evaluate(arm: int, item: int) -> float:
        calls.append(arm)
        if case == "disqualified" and arm == 4 and calls.count(4) == 9:
            raise OSError("disk full")
        return float(table[item, arm])

    result = race(evaluate, range(6), range(2000), **RULES[case])
    history = result.evidence_history
    assert history.shares.shape == (history.rounds.size, 6)
    assert (history.rounds[0], history.rounds[-1]) == (1, result.n_rounds)
    assert (np.diff(history.rounds) > 0).all()
    assert {out.round for out in result.eliminations} <= set(history.rounds.tolist())
    left = {int(out.arm): out.round for out in result.eliminations}
    gone = {int(out.arm): out.round for out in result.disqualified}
    assert len(gone) == (case == "disqualified")
    assert len(left) > 2
    game = result.new_game()
    for t, shares in zip(history.rounds.tolist(), history.shares, strict=True):
        result.play(game, t)
        now = game.evidence()
        for arm in range(6):
            if t > left.get(arm, math.inf) or t >= gone.get(arm, math.inf):
                assert math.isnan(shares[arm])
            else:
                assert shares[arm] == now[arm]
                assert (shares[arm] == 1.0) == (t == left.get(arm))


def test_a_long_race_is_looked_at_in_some_rounds_and_all_in_which_an_arm_left(race: Race) -> None:
    table = noisy(6, 20_000)
    table[:, 4] = table[:, 5] - 0.01 + 0.1 * np.random.default_rng(5).standard_normal(20_000)
    result = race(lambda arm, item: float(np.clip(table[item, arm], 0, 1)), range(6), range(20_000), bounds=(0, 1))
    rounds = result.evidence_history.rounds
    assert result.n_rounds > 1000
    assert 100 < rounds.size <= 250
    assert {out.round for out in result.eliminations} <= set(rounds.tolist())
    steps = rounds[1:] / rounds[:-1]
    assert steps[rounds[1:] > 100].max() < 1.1  # close together on a logarithmic axis


def test_a_leaderboard_keeps_the_evidence_of_its_race() -> None:
    names = [str(k) for k in range(6)]
    board: Any = bestarm.race_table(noisy(), arms=names)
    live: Any = bestarm.race_table(noisy(), arms=names, live=True)
    assert board.n_rounds > live.n_rounds == board.evidence_history.rounds[-1]
    np.testing.assert_array_equal(board.evidence_history.rounds, live.evidence_history.rounds)
    np.testing.assert_array_equal(board.evidence_history.shares, live.evidence_history.shares)
    exact: Any = bestarm.race_table(noisy(), arms=names, target="items")
    ends = {out.round for out in exact.game.eliminations}
    assert ends <= set(exact.evidence_history.rounds.tolist())
    assert (exact.evidence_history.shares == 1.0).sum() == 5


def test_there_is_no_history_without_evidence_or_rounds(race: Race) -> None:
    assert race(bounds=None, items=None, algorithm=LUCB(0.1, variances=0.03)).evidence_history is None
    assert race(items=iter(())).evidence_history is None
