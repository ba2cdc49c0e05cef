"""`bestarm limit`: the rules beside what is possible, as a table, as JSON and as a picture."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

import bestarm
from bestarm.algorithms import PairwiseBAI
from bestarm.arms import TableArms, equicorrelated_arms
from bestarm.comparisons import Betting
from bestarm.limits import gaussian_lower_bound, growth_rates, oracle_queries
from bestarm.studies import figure1, limit
from conftest import Cli, Rejects

SCORES = np.round(np.clip(np.random.default_rng(0).normal([0.3, 0.45, 0.6], 0.15, (60, 3)), 0, 1), 3)
FEW = ("--repetitions", "6")


def write(path: Path, scores: Any) -> Path:
    rows = [",".join(map(repr, row)) for row in np.asarray(scores, dtype=np.float64).tolist()]
    path.write_text("\n".join(["a,b,c", *rows]), encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path / "scores.csv", SCORES)


@pytest.fixture
def two_settings(monkeypatch: pytest.MonkeyPatch) -> list[figure1.Scenario]:
    """Figure 1 in small."""
    small = [
        figure1.Scenario("left", "correlation", rho, equicorrelated_arms(k, rho)) for k, rho in ((3, 0.9), (4, 0.99))
    ]
    monkeypatch.setattr(figure1, "scenarios", lambda: small)
    return small


@pytest.fixture
def run(cli: Cli) -> Cli:
    return partial(cli, "limit")


def said(result: Result) -> str:
    return " ".join(result.output.split())


def test_a_table_beside_the_oracles(run: Cli, table: Path) -> None:
    ended = run(table, "--bounds", "0,1", "--json", *FEW)
    assert ended.exit_code == 0, ended.output
    (case,) = json.loads(ended.stdout)["cases"]
    rates = growth_rates(SCORES)
    assert case["limits"] == {
        "oracle with union": oracle_queries(rates, 0.05, union=True),
        "oracle without union": oracle_queries(rates, 0.05, union=False),
    }
    assert (case["label"], case["n_arms"]) == ("60 rows", 3)
    assert [rule["rule"] for rule in case["rules"]] == list(limit.bounded_rules(0.05))
    assert [rule["repetitions"] for rule in case["rules"]] == [6, 6, 6, 2]  # the paper's rules play fewer
    sim = bestarm.simulate(PairwiseBAI(0.05, comparison=Betting()), TableArms(SCORES), repetitions=6, seed=0)
    betting = case["rules"][1]
    assert (betting["mean_queries"], betting["error_rate"]) == (sim.mean_queries, sim.error_rate)
    assert betting["times"]["oracle with union"] == sim.mean_queries / case["limits"]["oracle with union"]


def test_the_text_says_who_comes_closest_and_what_the_limits_are(run: Cli, table: Path) -> None:
    text = said(run(table, *FEW))
    assert " comes closest: it needs " in text
    assert "a yardstick and no lower bound for every rule" in text
    for name in (
        "LeaderBetting",
        "Betting",
        "Portfolio",
        "EmpiricalBernstein",
        "oracle with union",
        "oracle without union",
    ):
        assert name in text


def test_seed_and_delta_are_used(run: Cli, table: Path) -> None:
    usual, seeded, strict = (
        json.loads(run(table, "--json", *FEW, *more).stdout)["cases"][0]
        for more in ((), ("--seed", 5), ("--delta", 0.001))
    )
    assert usual["limits"] == seeded["limits"] != strict["limits"]
    assert usual["rules"][0]["mean_queries"] != seeded["rules"][0]["mean_queries"]
    assert usual["rules"][0]["mean_queries"] < strict["rules"][0]["mean_queries"]


def test_units_and_direction_of_the_scores_do_not_matter(run: Cli, tmp_path: Path) -> None:
    eighths = np.round(8 * SCORES) / 8  # so that scaling is exact
    plain = run(write(tmp_path / "plain.csv", eighths), "--bounds", "0,1", "--json", *FEW)
    losses = run(
        write(tmp_path / "losses.csv", 12 - 8 * eighths), "--bounds", "4,12", "--lower-is-better", "--json", *FEW
    )
    assert plain.exit_code == 0, plain.output
    assert losses.stdout == plain.stdout


def test_groups_are_drawn_whole_and_missing_cells_dropped(run: Cli, tmp_path: Path) -> None:
    rows = [[str(k), *map(str, row)] for k, row in enumerate(SCORES.tolist())]
    grouped = [[f"g{k // 2}", *row[1:]] for k, row in enumerate(rows)]
    path = tmp_path / "grouped.csv"
    path.write_text("\n".join(map(",".join, [["doc", "a", "b", "c"], *grouped])), encoding="utf-8")
    ended = run(path, "--group-column", "doc", "--json", *FEW)
    assert json.loads(ended.stdout)["cases"][0]["label"] == "30 rows"
    rows[0][2] = ""
    path.write_text("\n".join(map(",".join, [["item", "a", "b", "c"], *rows])), encoding="utf-8")
    assert run(path).exit_code == 2
    assert json.loads(run(path, "--missing", "drop", "--json", *FEW).stdout)["cases"][0]["label"] == "59 rows"


def test_figure1_beside_the_lower_bound(run: Cli, two_settings: list[figure1.Scenario]) -> None:
    ended = run("figure1", "--json", "--repetitions", 20)
    assert ended.exit_code == 0, ended.output
    document = json.loads(ended.stdout)
    for case, scenario in zip(document["cases"], two_settings, strict=True):
        assert (case["label"], case["n_arms"]) == (scenario.label, scenario.arms.n_arms)
        assert case["limits"] == {"lower bound": gaussian_lower_bound(scenario.arms, 0.05)}
        assert [rule["rule"] for rule in case["rules"]] == list(limit.gaussian_rules(0.05))
        assert all(rule["times"]["lower bound"] > 1 for rule in case["rules"])
    assert document["note"].startswith("Lower bound: the expected queries of any rule")
    rules = [rule for case in document["cases"] for rule in case["rules"]]
    times = {
        name: [rule["times"]["lower bound"] for rule in rules if rule["rule"] == name]
        for name in ("SymmetricBetting", "StudentMixture", "GaussianBernstein")
    }
    closest = min(times, key=lambda name: float(np.log(times[name]).mean()))
    low, high = min(times[closest]), max(times[closest])
    said = f"{closest} comes closest: it needs {low:.2f} to {high:.2f} times the lower bound."
    assert document["headline"].startswith(said)


def test_rules_that_so_few_games_do_not_tell_apart_are_named() -> None:
    def rule(name: str, queries: float) -> limit.Measured:
        return limit.Measured(name, queries, 10.0, 0.0, 100)

    case = limit.Case("a", 3, {"lower bound": 100.0}, (rule("one", 200.0), rule("two", 210.0), rule("three", 300.0)))
    text = "one comes closest: it needs 2.00 times the lower bound. So few games do not tell it from two."
    assert limit.headline([case]) == text


@pytest.mark.usefixtures("two_settings")
@pytest.mark.parametrize("what", ["figure1", "scores.csv"])
def test_the_picture(run: Cli, what: str, table: Path, tmp_path: Path) -> None:
    picture = tmp_path / "limit.png"
    ended = run(what if what == "figure1" else table, "-o", picture, *FEW)
    assert ended.exit_code == 0, ended.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "limit.png" in "".join(ended.stderr.split())
    assert run("figure1", "-o", picture, *FEW).exit_code == 0  # it is one of bestarm's


def test_a_picture_never_replaces_the_table(run: Cli, table: Path) -> None:
    before = table.read_bytes()
    ended = run(table, "-o", table, "--overwrite", *FEW)
    assert ended.exit_code == 2
    assert "is what this command reads" in said(ended)
    assert table.read_bytes() == before


BAD = {
    "figure1 --bounds 0,1": "figure1 takes no options for tables",
    "figure1 --item-column task": "figure1 takes no options for tables",
    "figure1 --delta 1": "--delta must lie strictly between 0 and 1, got 1.0",
    "figure1 --repetitions 1": "--repetitions must be a whole number of at least 2, got 1",
    "figure1 --seed -1": "--seed must be a whole number of at least 0, got -1",
    "absent.csv": "there is no file absent.csv",
    "scores.csv --bounds 0.9,1": "0.9",
    "scores.csv -o folder": "the picture cannot be written to folder: it is a folder",
    "tied.csv": "the largest mean is shared by several",
    "close.csv": "the best arm leads by 5e-06",
}


@pytest.mark.parametrize("words", BAD)
def test_bad_input_is_one_sentence(words: str, rejects: Rejects, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(table.parent)
    (table.parent / "folder").mkdir()
    write(table.parent / "tied.csv", [[0, 1, 0], [1, 0, 0]])
    write(table.parent / "close.csv", [[0, 1, 0], [0.50002, 0, 0.5], [0.49999, 0, 0.49999], [1, 0, 1]] * 2)
    rejects(BAD[words], "limit", *words.split(), *(() if "--repetitions" in words else FEW))


@pytest.mark.usefixtures("two_settings")
def test_without_clarabel_tables_work_and_figure1_says_what_to_install(
    run: Cli, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "clarabel", None)
    assert run(table, *FEW).exit_code == 0
    ended = run("figure1", *FEW)
    assert ended.exit_code == 2
    assert said(ended) == "error: the Gaussian lower bound needs clarabel: pip install 'bestarm[limit]'"
