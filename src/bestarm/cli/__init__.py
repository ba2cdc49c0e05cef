"""The command line: thin over the library."""

from bestarm.cli import race, study, tools
from bestarm.cli.app import app

__all__ = ["app", "race", "study", "tools"]
