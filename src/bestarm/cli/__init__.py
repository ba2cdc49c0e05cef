"""The command line: thin over the library, one file per command."""

from bestarm.cli import commands, demo, plan, report, reproduce, research_limit, resume, run, show, table, validate
from bestarm.cli.app import app

__all__ = [
    "app",
    "commands",
    "demo",
    "plan",
    "report",
    "reproduce",
    "research_limit",
    "resume",
    "run",
    "show",
    "table",
    "validate",
]
