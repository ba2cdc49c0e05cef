# ruff: noqa: I001 - commands are registered when they are imported, and the help shows them in this order
"""The command line, thin over the library; `app` is the program ``bestarm``."""

from bestarm.cli import races, saved, research
from bestarm.cli.app import app

__all__ = ["app", "races", "research", "saved"]
