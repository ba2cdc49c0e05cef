"""The experiment with averages, and the cost in Theorem B.1 that it is compared with."""

import csv
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from bestarm.algorithms import ConvexBAI, PairwiseBAI
from bestarm.arms import Arms, GaussianArms, equicorrelated_arms
from bestarm.comparisons import Betting, Portfolio
from bestarm.complexity import bound_convex, convex_cost
from bestarm.studies import convex
from conftest import Cli


def slow_cost(arms: Arms, arm: int) -> float:
    """The minimum over weights themselves, from many starts."""
    others = [j for j in range(arms.n_arms) if j != arm]

    def cost(raw: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        w = np.zeros(arms.n_arms)
        w[others] = np.exp(raw - raw.max())
        w /= w.sum()
        D = float(w @ arms.means - arms.means[arm])
        if D <= 0:
            return 1e6 - D
        w[arm] = -1.0
        return float(w @ arms.covariance @ w) / D**2 + 2.0 / D

    rng = np.random.default_rng(0)
    starts = [*(5.0 * np.eye(len(others))), *rng.normal(0.0, 2.0, (6, len(others)))]
    exact: Any = {"maxiter": 4000, "xatol": 1e-9, "fatol": 1e-12}
    return min(float(minimize(cost, start, method="Nelder-Mead", options=exact).fun) for start in starts)


def random_arms(seed: int) -> Arms:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    return GaussianArms(rng.normal(size=4), root @ root.T)


COSTS: dict[str, tuple[Arms, float]] = {
    f"{averaged}, {gap}": (convex.AveragedArms(3, 0.25 * gap, gap, averaged), 1e-5)
    for averaged in (True, False)
    for gap in (0.2, 0.02)
} | {f"seed {seed}": (random_arms(seed), 1e-4) for seed in range(4)}


@pytest.mark.parametrize("name", COSTS)
def test_the_cost_is_the_minimum_over_weights(name: str) -> None:
    arms, near = COSTS[name]
    for arm in range(4) if name.startswith("seed") else (3,):
        expected = math.inf if arm == arms.best else pytest.approx(slow_cost(arms, arm), rel=near)
        assert convex_cost(arms, arm) == expected


def test_the_bound_sums_the_costs_of_all_but_the_best() -> None:
    arms = equicorrelated_arms(4, 0.5)
    costs = [convex_cost(arms, arm) for arm in range(3)]
    factor = math.log(4 * max(costs) / 0.1) * 4
    assert bound_convex(arms, 0.1) == pytest.approx(factor * sum(costs))
    assert [bound_convex(arms, 0.1, arm) for arm in range(3)] == pytest.approx([factor * cost for cost in costs])


# --- the arms --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("averaged", [True, False])
def test_what_is_drawn_has_the_means_and_covariances_stated(averaged: bool) -> None:
    arms, n = convex.AveragedArms(3, 0.05, 0.2, averaged), 200_000
    rows = arms.draw(n, np.random.default_rng(0))
    assert arms.means == pytest.approx([0.55, 0.5, 0.5, 0.55 / 3 + 1 / 3 - 0.2])
    assert rows.mean(axis=0) == pytest.approx(arms.means, abs=5 / math.sqrt(n))
    assert np.abs(np.cov(rows, rowvar=False) - arms.covariance).max() < 5 / math.sqrt(n)
    follows = rows[:, 3] / (1 - 0.2 / arms.means[:3].mean()) - rows[:, :3].mean(axis=1)
    assert bool(np.abs(follows).max() < 1e-12) is averaged


def test_rounds_are_those_until_the_last_arm_is_out() -> None:
    arms = convex.AveragedArms(3, 0.05, 0.2)
    algorithm = ConvexBAI(0.05, comparison=Portfolio())
    rounds, survived = convex.rounds_until_out(algorithm, arms, np.random.default_rng(1))
    game = algorithm.start(4)
    game.play(arms.draw(convex.BLOCK, np.random.default_rng(1)))
    assert [out.round for out in game.eliminations if out.arm == 3] == [rounds]
    assert survived


def test_a_game_that_does_not_end_is_cut_at_the_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convex, "HORIZON", 20)
    monkeypatch.setattr(convex, "BLOCK", 8)
    arms = convex.AveragedArms(3, 0.0, 0.001)
    played = convex.rounds_until_out(PairwiseBAI(0.05, comparison=Betting()), arms, np.random.default_rng(0))
    assert played == (24, True)


# --- what is said ----------------------------------------------------------------------------------------------------

MEANS = {"Pairwise-BAI": 4e6, "Convex-BAI": 1e6, "Betting": 2500.0, "Portfolio": 500.0}


def points(kind: str, gap: float, **changes: float) -> list[convex.Point]:
    return [
        convex.Point(kind, gap, name, changes.get(name.replace("-", "_"), mean), mean / 50, 5, 0, True, 12345.0)
        for name, mean in MEANS.items()
    ]


def test_findings_compare_each_rule_with_its_counterpart() -> None:
    said = convex.findings([*points("average", 0.1), *points("independent", 0.1, Convex_BAI=8e6, Portfolio=3000.0)])
    assert said == [
        "Last arm average: the paper's Convex-BAI beats Pairwise-BAI at gaps 0.1 (share of its rounds: 0.25 at 0.1); "
        "Portfolio needs 0.20 at 0.1 of the rounds of Betting.",
        "Last arm independent: the paper's Convex-BAI beats Pairwise-BAI at none of these gaps (share of its rounds: "
        "2.00 at 0.1); Portfolio needs 1.20 at 0.1 of the rounds of Betting.",
    ]


def test_games_that_were_cut_are_no_wins_and_shown_as_at_least() -> None:
    cut = [replace(point, reached_horizon=int(point.algorithm == "Pairwise-BAI")) for point in points("average", 0.1)]
    both = [*points("average", 0.2), *cut]
    assert "beats Pairwise-BAI at gaps 0.2 (share of its rounds: 0.25 at 0.2)" in convex.findings(both)[0]
    (table,) = convex.convex_tables(both)
    cells = {cell for column in table.columns for cell in map(str, column.cells)}
    assert {"4M ±2%", "≥ 4M", "1M ±2%", "2.5k ±2%", "500 ±2%", "12.3k"} <= cells


def test_the_command_writes_a_table_and_a_picture(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    done = cli("reproduce", "convex", "--gap", 0.05, "--gap", 0.25, "--repetitions", 3, "--output", folder)
    assert done.exit_code == 0, done.output
    with (folder / "convex.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    seen = [(row["last_arm"], float(row["gap"]), row["algorithm"], int(row["repetitions"])) for row in rows]
    games = {"Pairwise-BAI": 2, "Convex-BAI": 2, "Betting": 3, "Portfolio": 3}
    assert seen == [
        (kind, gap, name, n) for kind in ("average", "independent") for gap in (0.25, 0.05) for name, n in games.items()
    ]
    assert all(row["best_survived"] == "True" for row in rows)
    mean = {(row["last_arm"], row["gap"], row["algorithm"]): float(row["mean_rounds"]) for row in rows}
    assert mean["average", "0.05", "Portfolio"] < mean["average", "0.05", "Betting"]
    assert (folder / "convex.png").read_bytes().startswith(b"\x89PNG")
    assert "Last arm independent: the paper's Convex-BAI" in done.stdout
