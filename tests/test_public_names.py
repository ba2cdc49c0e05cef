"""The public names: all there, all documented, and changed only on purpose (docs/design.md, Rules)."""

import inspect
from types import ModuleType

import pytest

import bestarm
import bestarm.testing
from bestarm import algorithms, arms, comparisons, complexity

PUBLIC = {
    bestarm: """
        LUCB Algorithm Arms BernoulliArms Betting Comparison ConvexBAI ConvexBernstein ConvexBoundary DataWarning
        Disqualification Elimination EliminationGame EmpiricalBernstein EvaluationError Game GaussianArms
        GaussianBernstein Guarantee HoeffdingRace Intervals KimNelson PairBoundary PairwiseBAI Plan PoolArms Portfolio
        Race RaceResult RaceSettings Record Round ScoreTable Simulation Store StoreError StoredRace StudentMixture
        TableArms VarianceRace __version__ bernoulli_variances clustered_arms complexity equicorrelated_arms
        gaussian_worst_case_arms load_result plan race race_commands race_table read_table simulate
        """,
    algorithms: """
        LUCB Algorithm ConvexBAI DataWarning Elimination EliminationGame Game Guarantee HoeffdingRace Intervals
        KimNelson PairwiseBAI VarianceRace
        """,
    comparisons: """
        Betting Boundary Comparison ConvexBernstein ConvexBoundary EmpiricalBernstein Evidence GaussianBernstein Goal
        PairBoundary Portfolio StudentMixture
        """,
    arms: """
        Arms BernoulliArms BernoulliVariances GaussianArms PoolArms TableArms UnpairedArms bernoulli_variances
        clustered_arms difference_variances equicorrelated_arms gaussian_worst_case_arms
        """,
    complexity: """
        bound_b1 bound_b2 bound_convex bound_g1 bound_g2 bounded_costs bounded_costs_appendix bounded_rounds convex_cost
        gaussian_costs gaussian_costs_appendix lower_bound_bernoulli lower_bound_gaussian
        """,
    bestarm.testing: """
        ALGORITHM_PROPERTIES COMPARISON_PROPERTIES ConformanceError Trial check_algorithm check_comparison
        """,
}
CONSTANTS = {"__version__", "ALGORITHM_PROPERTIES", "COMPARISON_PROPERTIES"}  # values, of no module

modules = pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)


@modules
def test_public_names_change_only_on_purpose(module: ModuleType) -> None:
    assert sorted(module.__all__) == sorted(PUBLIC[module].split())


@modules
def test_public_names_are_there_and_documented(module: ModuleType) -> None:
    for name in module.__all__:
        doc = getattr(module, name).__doc__
        assert doc, f"{module.__name__}.{name} has no docstring"
        assert not doc.startswith(f"{name}("), f"{module.__name__}.{name} has only the docstring of a dataclass"


@modules
def test_public_names_are_defined_in_bestarm(module: ModuleType) -> None:
    for name in set(module.__all__) - CONSTANTS:
        value = getattr(module, name)
        home = value.__name__ if inspect.ismodule(value) else value.__module__
        assert home.startswith("bestarm."), f"{module.__name__}.{name} is of {home}"


@pytest.mark.parametrize("name", ["Algorithm", "Arms", "Comparison", "Store"])
def test_what_users_implement_is_at_the_top(name: str) -> None:
    assert name in bestarm.__all__
    assert getattr(getattr(bestarm, name), "_is_protocol", False)
