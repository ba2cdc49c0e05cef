"""The study of the guarantee in small, Figure 1, and their commands."""

import csv
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import Result

import bestarm
from bestarm.studies import figure1, validate
from conftest import Cli, Rejects

GAMES = 200
PAIRWISE = ("StudentMixture", "Betting")
TEN_ARMS = ("near ties", "Bernoulli, correlated", "Beta, skewed", "discrete: rare large wins")

# The study plays cells that are meant to misfit.
pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")


@lru_cache(maxsize=1)
def grid() -> list[validate.Cell]:
    ten = [cell for cell in validate.cells((10,), (0.1,)) if cell.law in TEN_ARMS and cell.comparison in PAIRWISE]
    return [*validate.cells((2,), (0.1,)), *ten]


@lru_cache(maxsize=1)
def results() -> list[validate.CellResult]:
    """The study, with fewer games of the paper's rule, which is there for its cost and takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validate, "PAPER_GAMES", 5)
        return [validate.measure(cell, GAMES, seed) for seed, cell in enumerate(grid())]


def test_the_guarantee_passes_its_study() -> None:
    verdict = validate.verdict(results())
    assert verdict.passed
    assert verdict.n_cells == sum(cell.assumption_holds for cell in grid())
    assert "no cell speaks against the guarantee" in str(verdict)


def test_the_study_covers_comparisons_options_and_broken_assumptions() -> None:
    kinds = {(cell.comparison, cell.option, cell.assumption_holds) for cell in grid()}
    plain = {
        (name, option, True) for name in ("StudentMixture", "Betting", "LeaderBetting") for option in ("", "epsilon")
    }
    pools = {(name, "pool", True) for name in ("Betting", "LeaderBetting", "Wins")}
    symmetric = {
        ("SymmetricBetting", option, holds) for option in ("", "epsilon", "student=0") for holds in (True, False)
    }
    assert kinds >= plain | pools | symmetric | {("StudentMixture", "", False), ("Wins", "", True)}
    whole = list(validate.cells())
    assert {(cell.n_arms, cell.delta) for cell in whole} == {(K, d) for K in (2, 10, 50, 200) for d in (0.1, 0.01)}
    assert all(cell.arms.n_arms == cell.n_arms and cell.algorithm.delta == cell.delta for cell in whole)


def test_a_broken_assumption_is_seen_and_kept_out_of_the_verdict() -> None:
    broken = [result for result in results() if not result.assumption_holds]
    worst = min(broken, key=lambda result: result.p_value)
    assert worst.error_rate > worst.delta
    assert worst.p_value < 1e-6
    taken_in = [replace(result, assumption_holds=True) for result in results()]
    assert not validate.verdict(taken_in).passed


def test_symmetric_bets_err_on_skewed_differences_only() -> None:
    """With the Student part too, although its share of delta is proved for Gaussian differences alone."""
    mine = [result for result in results() if result.comparison == "SymmetricBetting"]
    symmetric = [result for result in mine if result.assumption_holds or result.law in validate.symmetric_laws(2, 0.0)]
    skewed = [result for result in mine if result.law == "discrete: rare large wins"]
    assert len(symmetric) > len(validate.symmetric_laws(2, 0.0)) > 0
    assert min(result.p_value for result in symmetric) >= validate.verdict(results()).threshold
    assert len(skewed) == 2
    assert max(result.p_value for result in skewed) < 1e-6


@pytest.mark.parametrize("law", validate.symmetric_laws(3, 0.0))
def test_differences_with_the_best_arm_are_symmetric_about_its_lead(law: str) -> None:
    """The share of differences beyond each distance is the same on both sides, up to five standard errors."""
    n_rounds, arms = 40_000, validate.symmetric_laws(3, 0.25)[law]
    rows = arms.draw(n_rounds, np.random.default_rng(1))
    np.testing.assert_array_equal(arms.means, [0.25, 0.0, 0.0])
    for other in (1, 2):
        centred = rows[:, 0] - rows[:, other] - 0.25
        for distance in (0.0, 0.1, 0.3, 1.0):
            beyond, opposite = np.sum(centred > distance + 1e-9), np.sum(centred < -distance - 1e-9)
            assert abs(int(beyond) - int(opposite)) <= 5 * np.sqrt(beyond + opposite)


def test_one_p_value_below_sidaks_threshold_is_enough_to_fail() -> None:
    threshold = validate.verdict(results()).threshold
    made_up = list(results())
    place = next(k for k, result in enumerate(made_up) if result.assumption_holds)
    made_up[place] = replace(made_up[place], p_value=0.999 * threshold)
    verdict = validate.verdict(made_up)
    assert not verdict.passed
    assert verdict.smallest_p == 0.999 * threshold
    assert "REJECTED" in str(verdict)
    assert 1 - (1 - threshold) ** verdict.n_cells == pytest.approx(0.05, rel=1e-10)


def test_intervals_and_p_values_are_exact() -> None:
    seen = {result.errors: result for result in results()}
    assert len(seen) > 3
    for result in seen.values():
        test = binomtest(result.errors, result.games, result.delta, alternative="greater")
        interval = binomtest(result.errors, result.games).proportion_ci(0.95, method="exact")
        assert result.p_value == pytest.approx(test.pvalue, rel=1e-10)
        assert (result.low, result.high) == pytest.approx((interval.low, interval.high), rel=1e-10, abs=1e-12)
        assert result.error_rate == result.errors / result.games


def test_errors_are_counted_as_defined() -> None:
    for name, option in [("Wins", "pool"), ("Betting", "pool"), ("StudentMixture", "epsilon"), ("Betting", "")]:
        cell = next(cell for cell in grid() if (cell.comparison, cell.option) == (name, option))
        errors, _, mean_queries = validate.errors_of(cell, 40, seed=3)
        sim = bestarm.simulate(cell.algorithm, cell.arms, repetitions=40, seed=3, progress=False)
        for g in range(40):
            if option == "epsilon" and sim.reasons[g] != "budget":
                wrong = cell.arms.means[sim.winners[g]] < cell.arms.means.max() - validate.EPSILON
            else:
                wrong = not sim.candidates[g, cell.best]
            assert errors[g] == wrong
        assert mean_queries == sim.queries.mean()


def test_laws_with_equal_means_have_equal_means() -> None:
    for cell in grid():
        symmetric = cell.comparison == "SymmetricBetting" and cell.law in validate.symmetric_laws(2, 0.0)
        if cell.law == "equal means" or (symmetric and cell.option != "epsilon"):
            np.testing.assert_allclose(cell.arms.means, cell.arms.means[0], rtol=1e-12)


def test_the_designated_arm_of_wins_loses_to_no_other() -> None:
    for n_arms in (2, 10):
        for scores in validate.wins_tables(n_arms).values():
            assert (np.sign(scores[:, :1] - scores).sum(axis=0) >= 0).all()
    outliers = validate.wins_tables(10)["outliers against the best arm"]
    assert outliers.mean(axis=0).argmax() != 0  # the best by its mean is another


def test_the_sharp_rule_is_cheaper_than_the_papers_wherever_both_end() -> None:
    pairwise = [result for result in results() if result.comparison in PAIRWISE and not result.option]
    both = [result for result in pairwise if result.decided == result.paper_decided == 1]
    assert len(both) >= 3
    assert all(result.mean_queries < result.paper_queries for result in both)


# --- the command line ------------------------------------------------------------------------------------------------


def said(result: Result) -> str:
    """What was printed, without the line breaks of a narrow terminal."""
    return " ".join(result.output.split())


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_validate_prints_both_tables_and_the_verdict(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "PAPER_GAMES", 2)  # they take most of the time
    result = cli("validate", "--games", 20, "--arms", 2, "--output", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "Cells that meet the assumptions" in said(result)
    assert "Assumption deliberately broken" in said(result)
    assert "no cell speaks against the guarantee" in said(result)
    rows = read(tmp_path / "new" / "validate.csv")
    assert [(row["law"], row["option"]) for row in rows] == [(cell.law, cell.option) for cell in validate.cells((2,))]
    assert {row["games"] for row in rows} == {"20"}


def test_a_rejected_guarantee_is_exit_code_one(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = grid()[:2]
    bad = [replace(validate.measure(cell, GAMES, seed), p_value=1e-9) for seed, cell in enumerate(cells)]
    monkeypatch.setattr(validate, "cells", lambda *_: cells)
    monkeypatch.setattr(validate, "measure", lambda cell, games, seed: bad[cells.index(cell)])
    result = cli("validate", "--arms", 2, "--output", tmp_path)
    assert (result.exit_code, "the guarantee is REJECTED" in said(result)) == (1, True)


BAD = {
    "validate --games 0": "--games must be a whole number of at least 1, got 0",
    "validate --seed -1": "--seed must be a whole number of at least 0, got -1",
    "validate --arms 3": "--arms must be among 2, 10, 50, 200, got 3",
    "demo --delta 2": "--delta must lie strictly between 0 and 1, got 2.0",
    "demo --seed -1": "--seed must be a whole number of at least 0, got -1",
    "reproduce figure1 --delta 2": "--delta must lie strictly between 0 and 1, got 2.0",
    "reproduce figure1 --delta nan": "--delta must lie strictly between 0 and 1, got nan",
    "reproduce figure1 --repetitions 1": "--repetitions must be a whole number of at least 2, got 1",
    "reproduce figure1 --keep 0.5": "--keep must be a finite number of at least 1, got 0.5",
    "reproduce convex --gap 0": "--gap must lie above 0 and be at most 0.25, got 0.0",
    "reproduce convex --gap 0.3": "--gap must lie above 0 and be at most 0.25, got 0.3",
    "reproduce convex --repetitions 1": "--repetitions must be a whole number of at least 2, got 1",
    "reproduce convex --delta 1": "--delta must lie strictly between 0 and 1, got 1.0",
    "reproduce convex --seed -1": "--seed must be a whole number of at least 0, got -1",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_sentence_before_a_folder_is_made(words: str, rejects: Rejects, tmp_path: Path) -> None:
    rejects(BAD[words], *words.split(), "--output", tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_an_output_that_is_a_file_is_refused(rejects: Rejects, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    rejects("taken", "validate", "--games", 5, "--arms", 2, "--output", tmp_path / "taken")


# --- Figure 1 ---------------------------------------------------------------------------------------------------------


def test_figure1_writes_its_files(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "figures"
    result = cli("reproduce", "figure1", "--repetitions", 2, "--side", "left", "--sharp", "--output", out)
    assert result.exit_code == 0, result.output
    rows, players = read(out / "figure1.csv"), figure1.algorithms(0.1, sharp=True)
    assert [(row["side"], row["algorithm"]) for row in rows] == [("left", name) for name in players] * 4
    queries = {(row["algorithm"], row["value"]): float(row["mean_queries"]) for row in rows}
    for value in ("0.0", "0.5", "0.7", "0.9"):
        assert queries["Student mixture", value] < queries["Pairwise-BAI", value]
        assert queries["Symmetric bets", value] < queries["Pairwise-BAI", value]
    assert (out / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert "claims" in said(result)


def bars() -> list[figure1.Bar]:
    """Bars in two scenarios of each side: 1000 queries, and half as many of Pairwise-BAI in the second."""
    sides: tuple[figure1.Side, ...] = ("left", "right")
    return [
        figure1.Bar(side, "value", value, name, 1000.0 / (1 + value * name.startswith("Pairwise")), 1.0, 0.0, 9, 5.0)
        for side in sides
        for value in (0.0, 1.0)
        for name in figure1.algorithms(0.1)
    ]


def test_claims_of_the_paper_are_judged_by_the_bars() -> None:
    worse = [replace(bar, mean_queries=bar.mean_queries * (1 + (bar.algorithm[-1] == "+"))) for bar in bars()]
    assert [claim.held for claim in figure1.claims(worse)] == [True, True, True, True]
    assert [claim.held for claim in figure1.claims(bars())] == [True, True, False, True]
    flat = [replace(bar, mean_queries=500.0) for bar in worse]
    assert [claim.held for claim in figure1.claims(flat)] == [False, False, False, True]
    moved = [replace(bar, mean_queries=bar.mean_queries * (1 + (bar.algorithm == "LUCB") * bar.value)) for bar in worse]
    assert [claim.held for claim in figure1.claims(moved)] == [True, True, True, False]
    right = [bar for bar in worse if bar.side == "right"]
    assert [claim.held for claim in figure1.claims(right)] == [True, True]
    assert figure1.verdict(figure1.claims(worse)).startswith("All 4 qualitative claims")
    assert figure1.verdict(figure1.claims(moved)).startswith("3 of 4 qualitative claims held; not held: the three")
