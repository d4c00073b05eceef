"""The command line in tests: commands in this process, and what a run of it leaves."""

import sys
from functools import cache

from typer import testing
from typer.main import get_command
from typer.testing import CliRunner

from ngmca.cli import app

FILES = ["mixing.csv", "report.html", "result.nc", "run.toml", "sources.csv"]
NGMCA = [sys.executable, "-c", "from ngmca.cli import main; main()"]


testing._get_command = cache(get_command)  # the same command is not built anew at each call


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result
