"""The study of the guarantee in small, and the command line."""

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner, Result

import bestarm
from bestarm.cli import app
from bestarm.studies import figure1, validate
from bestarm.studies.validate import Cell, CellResult, symmetric_laws, wins_tables

GAMES = 200
PAIRWISE = ("StudentMixture", "Betting")
TEN_ARMS = ("near ties", "Bernoulli, correlated", "Beta, skewed", "discrete: rare large wins")

# The study plays cells that are meant to misfit.
pytestmark = pytest.mark.filterwarnings("ignore::bestarm.AssumptionWarning")


@lru_cache(maxsize=1)
def grid() -> list[Cell]:
    ten = [cell for cell in validate.cells((10,), (0.1,)) if cell.law in TEN_ARMS and cell.comparison in PAIRWISE]
    return [*validate.cells((2,), (0.1,)), *ten]


@lru_cache(maxsize=1)
def results() -> list[CellResult]:
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
    assert kinds >= {
        ("StudentMixture", "", True),
        ("StudentMixture", "epsilon", True),
        ("StudentMixture", "", False),
        ("Betting", "", True),
        ("Betting", "epsilon", True),
        ("Betting", "pool", True),
        ("LeaderBetting", "", True),
        ("LeaderBetting", "epsilon", True),
        ("LeaderBetting", "pool", True),
        ("SymmetricBetting", "", True),
        ("SymmetricBetting", "epsilon", True),
        ("SymmetricBetting", "student=0", True),
        ("SymmetricBetting", "", False),
        ("SymmetricBetting", "epsilon", False),
        ("SymmetricBetting", "student=0", False),
        ("Wins", "", True),
        ("Wins", "pool", True),
    }
    whole = list(validate.cells())
    assert {(cell.n_arms, cell.delta) for cell in whole} == {(K, d) for K in (2, 10, 50, 200) for d in (0.1, 0.01)}
    assert all(cell.arms.n_arms == cell.n_arms and cell.algorithm.delta == cell.delta for cell in whole)


def test_a_broken_assumption_is_seen_and_kept_out_of_the_verdict() -> None:
    broken = [result for result in results() if not result.cell.assumption_holds]
    worst = min(broken, key=lambda result: result.p_value)
    assert worst.error_rate > worst.cell.delta
    assert worst.p_value < 1e-6
    taken_in = [replace(result, cell=replace(result.cell, assumption_holds=True)) for result in results()]
    assert not validate.verdict(taken_in).passed


def test_symmetric_bets_err_on_skewed_differences_only() -> None:
    """With the Student part too, although its share of delta is proved for Gaussian differences alone."""
    mine = [result for result in results() if result.cell.comparison == "SymmetricBetting"]
    symmetric = [result for result in mine if result.cell.assumption_holds or result.cell.law in symmetric_laws(2, 0.0)]
    skewed = [result for result in mine if result.cell.law == "discrete: rare large wins"]
    assert len(symmetric) > len(symmetric_laws(2, 0.0)) > 0
    assert min(result.p_value for result in symmetric) >= validate.verdict(results()).threshold
    assert len(skewed) == 2
    assert max(result.p_value for result in skewed) < 1e-6


@pytest.mark.parametrize("law", symmetric_laws(3, 0.0))
def test_differences_with_the_best_arm_are_symmetric_about_its_lead(law: str) -> None:
    """The share of differences beyond each distance is the same on both sides, up to five standard errors."""
    n_rounds, arms = 40_000, symmetric_laws(3, 0.25)[law]
    rows = arms.draw(n_rounds, np.random.default_rng(1))
    np.testing.assert_array_equal(arms.means, [0.25, 0.0, 0.0])
    for other in (1, 2):
        centred = rows[:, 0] - rows[:, other] - 0.25
        for distance in (0.0, 0.1, 0.3, 1.0):
            beyond, opposite = np.sum(centred > distance + 1e-9), np.sum(centred < -distance - 1e-9)
            assert abs(int(beyond) - int(opposite)) <= 5 * np.sqrt(beyond + opposite)


def test_one_tiny_p_value_is_enough_to_fail() -> None:
    made_up = list(results())
    place = next(k for k, result in enumerate(made_up) if result.cell.assumption_holds)
    made_up[place] = replace(made_up[place], p_value=1e-6)
    verdict = validate.verdict(made_up)
    assert not verdict.passed
    assert verdict.smallest_p == 1e-6
    assert "REJECTED" in str(verdict)


def test_the_threshold_is_sidaks() -> None:
    verdict = validate.verdict(results())
    assert 1 - (1 - verdict.threshold) ** verdict.n_cells == pytest.approx(0.05, rel=1e-10)


def test_intervals_and_p_values_are_exact() -> None:
    seen = {result.errors: result for result in results()}
    assert len(seen) > 3
    for result in seen.values():
        test = binomtest(result.errors, result.games, result.cell.delta, alternative="greater")
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
        symmetric = cell.comparison == "SymmetricBetting" and cell.law in symmetric_laws(2, 0.0)
        if cell.law == "equal means" or (symmetric and cell.option != "epsilon"):
            np.testing.assert_allclose(cell.arms.means, cell.arms.means[0], rtol=1e-12)


def test_the_designated_arm_of_wins_loses_to_no_other() -> None:
    for n_arms in (2, 10):
        for scores in wins_tables(n_arms).values():
            assert (np.sign(scores[:, :1] - scores).sum(axis=0) >= 0).all()
    outliers = wins_tables(10)["outliers against the best arm"]
    assert outliers.mean(axis=0).argmax() != 0  # the best by its mean is another


def test_the_sharp_rule_is_cheaper_than_the_papers_wherever_both_end() -> None:
    pairwise = [result for result in results() if result.cell.comparison in PAIRWISE and not result.cell.option]
    both = [result for result in pairwise if result.decided == result.paper_decided == 1]
    assert len(both) >= 3
    assert all(result.mean_queries < result.paper_queries for result in both)


def test_the_file_has_one_row_a_cell(tmp_path: Path) -> None:
    validate.write_csv(results(), tmp_path / "validate.csv")
    rows = read(tmp_path / "validate.csv")
    assert [row["law"] for row in rows] == [cell.law for cell in grid()]
    for row, result in zip(rows, results(), strict=True):
        assert int(row["errors"]) == result.errors
        assert float(row["error_rate"]) == result.error_rate
        assert row["assumption_holds"] == str(result.cell.assumption_holds)
        assert math.isnan(float(row["lower_bound"])) == math.isnan(result.lower_bound)


# --- the command line ------------------------------------------------------------------------------------------------


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said(result: Result) -> str:
    """What was printed, without the line breaks of a narrow terminal."""
    return " ".join(result.output.split())


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_validate_prints_both_tables_and_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        validate, "PAPER_GAMES", 2
    )  # the paper's rule is there for its cost, and takes most of the time
    result = run("validate", "--games", "20", "--arms", "2", "--output", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "Cells that meet the assumptions" in said(result)
    assert "Assumption deliberately broken" in said(result)
    assert "no cell speaks against the guarantee" in said(result)
    assert len(read(tmp_path / "new" / "validate.csv")) == len(list(validate.cells((2,))))


def test_a_rejected_guarantee_is_exit_code_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = [validate.measure(cell, GAMES, seed) for seed, cell in enumerate(grid()[:2])]
    bad = [replace(result, p_value=1e-9) for result in measured]
    monkeypatch.setattr(validate, "cells", lambda *_: grid()[:2])
    monkeypatch.setattr(validate, "measure", lambda cell, games, seed: bad[grid().index(cell)])
    result = run("validate", "--arms", "2", "--output", tmp_path)
    assert result.exit_code == 1
    assert "the guarantee is REJECTED" in said(result)


BAD: list[tuple[Sequence[str], str]] = [
    (("validate", "--games", "0"), "error: --games must be a whole number of at least 1, got 0"),
    (("validate", "--seed", "-1"), "error: --seed must be a whole number of at least 0, got -1"),
    (("validate", "--arms", "3"), "error: --arms must be among 2, 10, 50, 200, got 3"),
    (("demo", "--delta", "2"), "error: --delta must lie strictly between 0 and 1, got 2.0"),
    (("demo", "--seed", "-1"), "error: --seed must be a whole number of at least 0, got -1"),
    (("reproduce", "figure1", "--delta", "2"), "error: --delta must lie strictly between 0 and 1, got 2.0"),
    (("reproduce", "figure1", "--delta", "nan"), "error: --delta must lie strictly between 0 and 1, got nan"),
    (
        ("reproduce", "figure1", "--repetitions", "1"),
        "error: --repetitions must be a whole number of at least 2, got 1",
    ),
    (("reproduce", "figure1", "--keep", "0.5"), "error: keep must be a finite number of at least 1, got 0.5"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_sentence_and_exit_code_two(arguments: Sequence[str], message: str, tmp_path: Path) -> None:
    result = run(*arguments, "--output", tmp_path / "never")
    assert result.exit_code == 2
    assert said(result).startswith(message)
    assert len(said(result)) < 120
    assert not (tmp_path / "never").exists()


def test_an_output_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    result = run("validate", "--games", "5", "--arms", "2", "--output", tmp_path / "taken")
    assert result.exit_code == 2
    assert said(result).startswith("error:")
    assert "taken" in "".join(said(result).split())


def test_figure1_writes_its_files(tmp_path: Path) -> None:
    out = tmp_path / "figures"
    result = run("reproduce", "figure1", "--repetitions", "2", "--side", "left", "--sharp", "--output", out)
    assert result.exit_code == 0, result.output
    rows = read(out / "figure1.csv")
    players = figure1.algorithms(0.1, sharp=True)
    assert {row["algorithm"] for row in rows} == set(players)
    assert {"Student mixture", "Symmetric bets"} <= set(players)
    assert len(rows) == 4 * len(players)
    assert {row["side"] for row in rows} == {"left"}
    queries = {(row["algorithm"], row["value"]): float(row["mean_queries"]) for row in rows}
    for value in ("0.0", "0.5", "0.7", "0.9"):
        assert queries["Student mixture", value] < queries["Pairwise-BAI", value]
        assert queries["Symmetric bets", value] < queries["Pairwise-BAI", value]
    assert (out / "figure1.png").read_bytes().startswith(b"\x89PNG")
    assert "claims" in said(result)


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, said(result)) == (0, f"bestarm {bestarm.__version__}")
