"""The rooms and the public names: all there, all documented, and changed only on purpose (docs/design.md, Rules)."""

import inspect
import pkgutil
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import bestarm
import bestarm.testing
from bestarm import algorithms, arms, comparisons, complexity, racing, simulation
from bestarm.errors import ParameterError

PUBLIC = {
    bestarm: """
        AssumptionWarning BestarmError EvaluationError OutOfBoundsError Plan Race RaceResult Round ScoreTable
        StoreError TableWarning __version__ load_result plan race race_commands race_table read_table simulate
        """,
    algorithms: """
        LUCB Algorithm ConvexBAI Elimination EliminationGame Game Guarantee HoeffdingRace Intervals KimNelson Lead
        PairwiseBAI Reason VarianceRace
        """,
    racing: """
        ArmRecord Breakdown Disqualification FailureCount ForPopulation Outage RaceSettings Record RoundRow
        ScoreRow Shape Standing Store
        StoredRace
        """,
    simulation: "Simulation simulate",
    comparisons: """
        Betting Boundary Comparison ConvexBernstein ConvexBoundary EmpiricalBernstein Evidence GaussianBernstein Goal
        LeaderBetting PairBoundary Portfolio StudentMixture SymmetricBetting Wins
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
CONSTANTS = {"__version__", "ALGORITHM_PROPERTIES", "COMPARISON_PROPERTIES", "RoundRow", "ScoreRow"}  # of no module

ROOT = Path(__file__).resolve().parent.parent

modules = pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)


@modules
def test_public_names_change_only_on_purpose(module: ModuleType) -> None:
    assert sorted(module.__all__) == sorted(PUBLIC[module].split())


@modules
def test_public_names_are_documented_and_defined_in_bestarm(module: ModuleType) -> None:
    for name in module.__all__:
        value, full_name = getattr(module, name), f"{module.__name__}.{name}"
        assert value.__doc__, f"{full_name} has no docstring"
        assert not value.__doc__.startswith(f"{name}("), f"{full_name} has only the docstring of a dataclass"
        home = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "")
        assert name in CONSTANTS or home.startswith("bestarm."), f"{full_name} is of {home}"


def test_a_room_is_public_by_its_all_and_other_packages_offer_nothing() -> None:
    for name in (room.name for room in pkgutil.iter_modules(bestarm.__path__) if room.name != "__main__"):
        module = import_module(f"bestarm.{name}")
        if module in PUBLIC or name == "cli":
            assert module.__all__
        elif hasattr(module, "__path__"):
            offered = {key for key, value in vars(module).items() if key[0] != "_" and not inspect.ismodule(value)}
            assert offered == set(), f"bestarm.{name} offers {offered}: say so in __all__, or leave it in its file"


# --- what is defined --------------------------------------------------------------------------------------------------


def all_of_bestarm() -> dict[str, object]:
    """Everything that is defined in bestarm, by its full name."""
    found: dict[str, object] = {}
    for part in pkgutil.walk_packages(bestarm.__path__, "bestarm."):
        if part.name != "bestarm.__main__":
            module = import_module(part.name)
            found |= {f"{part.name}.{name}": value for name, value in vars(module).items() if defined_in(module, value)}
    return found


def defined_in(module: ModuleType, value: object) -> bool:
    return inspect.isclass(value) and value.__module__ == module.__name__


def test_every_protocol_that_users_implement_is_public() -> None:
    protocols = {value for value in all_of_bestarm().values() if getattr(value, "_is_protocol", False)}
    public = {getattr(module, name) for module in PUBLIC for name in module.__all__ if name not in CONSTANTS}
    assert protocols - public == set()


def test_every_error_of_bestarm_is_a_bestarm_error_or_is_about_a_parameter() -> None:
    errors = {value for value in all_of_bestarm().values() if inspect.isclass(value) and issubclass(value, Exception)}
    assert len(errors) > 6
    others = {error for error in errors if not issubclass(error, bestarm.BestarmError | ParameterError)}
    assert others == {bestarm.AssumptionWarning, bestarm.TableWarning}
    assert issubclass(ParameterError, ValueError)


def test_the_list_of_public_modules_is_in_the_documentation() -> None:
    text = ROOT.joinpath("docs", "design.md").read_text(encoding="utf-8")
    rules = text[text.index("## Rules") :]
    assert all(f"`{module.__name__}`" in rules for module in PUBLIC)
