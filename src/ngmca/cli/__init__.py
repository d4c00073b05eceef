"""The command line: read -> separate -> write, and commands to look at what goes in and comes out."""

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ngmca.cli.commands import app

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """The application, loaded when it is asked for: it brings all of ngmca with it."""
    if name != "app":
        raise AttributeError(f"module 'ngmca.cli' has no attribute {name!r}")
    from ngmca.cli.commands import app

    return app


def main() -> None:
    """Run the command line: what goes wrong is told in one line, with an exit code."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # not where Ctrl-C is ignored, as behind nohup
        # While libraries load there is nothing to keep, and some make an ImportError of Ctrl-C.
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        from ngmca.cli import commands, console
    except Exception as error:
        if os.environ.get("NGMCA_TRACEBACK"):
            raise
        told = " ".join(f"{type(error).__name__}: {error}".split())
        sys.exit(f"error: ngmca cannot start: {told[:500]}")
    signal.signal(signal.SIGINT, usual)
    code = console.run(commands.app)
    sys.stderr = None  # it has been flushed: remarks at the very end that nobody gets are no failure
    sys.exit(code)
