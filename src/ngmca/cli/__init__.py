"""The command line: `ngmca separate` and further commands."""

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

    from ngmca.cli.commands import application as app

__all__ = ["app", "main"]


def __getattr__(name: str) -> "typer.Typer":
    """Load the application when it is used: it imports all of ngmca."""
    if name != "app":
        raise AttributeError(f"module 'ngmca.cli' has no attribute {name!r}")
    from ngmca.cli.commands import application

    return application


def main() -> None:
    """Run the command line: any error is printed in one line, with an exit code."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # not where Ctrl-C is ignored, as with nohup
        # While libraries load there is nothing to keep, and some turn Ctrl-C into an ImportError.
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        from ngmca.cli import commands, errors
    except Exception as error:
        if os.environ.get("NGMCA_TRACEBACK"):
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        sys.exit(f"error: ngmca cannot start: {text[:500]}")
    signal.signal(signal.SIGINT, usual)
    code = errors.run(commands.application)
    sys.stderr = None  # it is flushed: later notes that cannot be printed are no failure
    sys.exit(code)
