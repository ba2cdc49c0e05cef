"""What a race of the command line was started from: a value that is kept with the race, and that runs it again."""

import importlib
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, ClassVar, get_args

from bestarm.algorithms import Reason
from bestarm.checks import check_choice, check_count, check_flag, check_positive, check_text
from bestarm.cli.streams import existing_files
from bestarm.cli.workers import Workers
from bestarm.errors import ParameterError
from bestarm.racing.calls import run_commands
from bestarm.racing.evaluation import Evaluation
from bestarm.racing.options import Options
from bestarm.racing.running import Execution, run_race
from bestarm.result.result import RaceResult
from bestarm.sources.items import STDIN, read_items
from bestarm.sources.programs import TIMEOUT, Measure, Measured
from bestarm.studies.demo import OPTIMIZERS, digits_gained
from bestarm.text import safe_str, short_repr

MOST_SHOWN = 20  # arms of a function that are shown before it is run,
LONGEST_SHOWN = 1000  # and characters of each


class Origin(ABC):
    """What a race was started from on the command line. Its fields, plain values, are kept in the store."""

    kind: ClassVar[str]

    @abstractmethod
    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Start the race, or continue the one in ``options.store``."""

    def runs(self, arms: Sequence[str]) -> list[str]:
        """What of other people's code the race runs, and on what, in words; nothing if it runs only bestarm's own."""
        return []

    def files(self, arms: Sequence[str]) -> list[Path]:
        """The files that the race reads."""
        return []

    def plain(self) -> dict[str, Any]:
        """The origin as plain values, for a store."""
        return {"kind": self.kind} | vars(self)


@dataclass(frozen=True)
class FunctionOrigin(Origin):
    """A function given by its name, evaluated on the lines of a file."""

    function: str  # module:function
    items: str | None
    folder: str
    jointly: bool = False
    retries: int = 0
    workers: int = 1

    kind: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        check_text("function", self.function)
        _check_place(self.items, self.folder)
        check_flag("jointly", self.jointly)
        check_count("retries", self.retries, least=0)
        check_count("workers", self.workers)

    def runs(self, arms: Sequence[str]) -> list[str]:
        """The function, and the file that its module would be imported from."""
        module, _, function = self.function.partition(":")
        processes = "1 process" if self.workers == 1 else f"{self.workers} processes"
        return [
            f"the function {function!r} of the module {module!r}, imported from {found_at(module, self.folder)}",
            f"for the arms {_quoted(arms)}",
            _on_items(self.items),
            f"on {processes}, with the folder {self.folder!r} first where Python looks for modules",
        ]

    def files(self, arms: Sequence[str]) -> list[Path]:
        """The items, and the code of the function."""
        module = self.function.partition(":")[0].replace(".", "/")
        names = [f"{module}.py", f"{module}/__init__.py"]
        return existing_files(self.folder, names if self.items is None else [self.items, *names])

    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Import the function and race it, on processes if there are several workers."""
        evaluation = Evaluation(imported(self.function, self.folder), jointly=self.jointly, retries=self.retries)
        items = None if self.items is None else read_items(Path(self.items))
        execution, begun = Execution(evaluation, progress=progress), replace(options, origin=self.plain())
        if self.workers == 1:
            return run_race(execution, arms, items, begun)
        with Workers(self.workers) as pool:
            result = run_race(replace(execution, executor=pool), arms, items, begun)
            if result.reason is Reason.INTERRUPTED:
                pool.kill()
        return result


@dataclass(frozen=True)
class CommandsOrigin(Origin):
    """Programs, on the lines of a file; the arms are the commands."""

    items: str | None
    folder: str
    score: Measured = "time"
    timeout: float = TIMEOUT
    retries: int = 0

    kind: ClassVar[str] = "commands"

    def __post_init__(self) -> None:
        _check_place(self.items, self.folder)
        check_choice("score", self.score, get_args(Measured))
        check_positive("timeout", self.timeout)
        check_count("retries", self.retries, least=0)

    def runs(self, arms: Sequence[str]) -> list[str]:
        """The commands."""
        return [*(f"the program {arm!r}" for arm in arms), f"in the folder {self.folder!r}", _on_items(self.items)]

    def files(self, arms: Sequence[str]) -> list[Path]:
        """The items, the programs, and the files that they are given."""
        names = [word for arm in arms for word in arm.split()]
        return existing_files(self.folder, names if self.items is None else [self.items, *names])

    def race(self, arms: Sequence[str], options: Options, progress: bool) -> RaceResult[str]:
        """Run the programs, without a shell."""
        items = None if self.items is None else read_items(Path(self.items))
        measure = Measure(self.score, self.timeout, self.folder)
        return run_commands(arms, items, measure, replace(options, origin=self.plain()), self.retries, progress)


@dataclass(frozen=True)
class DemoOrigin(Origin):
    """The optimizers of the demo, on random problems."""

    kind: ClassVar[str] = "optimizers"

    def race(
        self, arms: Sequence[str], options: Options, progress: bool, score: Callable[[str, int], float] = digits_gained
    ) -> RaceResult[str]:
        """Minimise random functions; ``score`` may be one that looks at the time."""
        if unknown := [arm for arm in arms if arm not in OPTIMIZERS]:
            raise ValueError(f"the demo has no optimizer {short_repr(unknown[0])}: use the version that made the race")
        return run_race(
            Execution(Evaluation(score), progress=progress), arms, None, replace(options, origin=self.plain())
        )


KINDS = (FunctionOrigin, CommandsOrigin, DemoOrigin)
FORMER = {"demo": "the demo of an earlier bestarm, a race of compressors, can be shown but not continued"}


def origin_of(stored: Mapping[str, Any] | None) -> Origin | None:
    """The origin in a store; None for a race that was started from Python."""
    values = dict(stored or {})
    if "kind" not in values:
        return None
    name = values.pop("kind")
    if isinstance(name, str) and name in FORMER:
        raise ValueError(f"{FORMER[name]}: `bestarm demo` runs the present one")
    kind = next((kind for kind in KINDS if kind.kind == name), None)
    if kind is None or not set(values) <= {field.name for field in fields(kind)}:
        raise ValueError(f"this bestarm does not know how to run {short_repr(stored)}: use the version that made it")
    return kind(**values)


def _check_place(items: str | None, folder: str) -> None:
    if items is not None:
        check_text("items", items)
    check_text("folder", folder)


def _on_items(items: str | None) -> str:
    if items is None:
        return "on random numbers"
    return "on the lines of standard input" if items == STDIN else f"on the lines of {items!r}"


def _quoted(texts: Sequence[str]) -> str:
    """Some texts, so that what a terminal would not show is seen, and what is not shown is said."""
    shown = [
        repr(text[:LONGEST_SHOWN]) + (f" ({len(text):,} characters in all)" if len(text) > LONGEST_SHOWN else "")
        for text in texts[:MOST_SHOWN]
    ]
    return ", ".join(shown) + (f" and {len(texts) - MOST_SHOWN:,} more" if len(texts) > MOST_SHOWN else "")


def found_at(module: str, folder: str) -> str:
    """Where a module would be imported from, found without importing anything, not even the packages around it."""
    places, name, where = [folder, *sys.path], "", None
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        loaded = sys.modules.get(name)
        spec = PathFinder.find_spec(name, places) if loaded is None else loaded.__spec__
        if spec is None:
            return "wherever Python finds it"
        where, places = spec.origin, list(spec.submodule_search_locations or [])
    return repr(where or places)


def imported(name: str, folder: str) -> Callable[..., Any]:
    """A function by its name as ``module:function``, from a folder or from what is installed."""
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise ParameterError("function", f"must be given as module:function, got {name!r}", name)
    if module_name.endswith(".py"):
        raise ParameterError("function", f"must be given as module:function without .py, got {name!r}", name)
    if sys.path[:1] != [folder]:  # where it was looked for when it was shown
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ImportError(f"there is no module {error.name!r} in {folder} or among the installed ones") from error
    except SystemExit as error:
        raise ImportError(f"the module {module_name!r} calls sys.exit({error.code!r}) when it is imported") from error
    except Exception as error:  # whatever a module of the user does when it is imported
        raise ImportError(
            f"the module {module_name!r} cannot be imported: {type(error).__name__}: {safe_str(error)}"
        ) from error
    if not hasattr(module, function_name):
        raise ImportError(f"the module {module_name!r} has no function {function_name!r}")
    function: Callable[..., Any] = getattr(module, function_name)
    return function
