"""The command line: thin over the library, one file per command."""

from bestarm.cli import races, research, saved
from bestarm.cli.app import app

__all__ = ["app", "races", "research", "saved"]
