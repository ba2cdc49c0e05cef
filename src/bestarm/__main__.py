"""`python -m bestarm` is the command `bestarm`."""

from bestarm.cli import app

app(prog_name="bestarm")
