"""What the command line says: results on stdout, progress and complaints on stderr."""

import functools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich.console import Console

from ngmca.io import ReadError

Command = TypeVar("Command", bound=Callable[..., Any])

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes beside 0


def stdout() -> Console:
    """The console for results, as it is now: tests and pipes replace it."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def stderr() -> Console:
    """The console for progress, notes and complaints."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=True)


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line of the result."""
    if not quiet:
        stdout().print(text, markup=False)


def note(text: str, *, quiet: bool = False) -> None:
    """Print a remark that is not part of the result."""
    if not quiet:
        stderr().print(f"note: {text}", markup=False, style="dim")


def give_json(content: dict[str, Any]) -> None:
    """Print one JSON object; numbers that JSON does not know become null."""
    print(json.dumps(_finite(content), indent=2, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def fail(text: str, code: int) -> typer.Exit:
    """Print one line that says what is wrong, and the exit to raise."""
    stderr().print(f"[bold red]error:[/] {_escaped(' '.join(text.split()))}")
    return typer.Exit(code)


def one_line_errors(command: Command) -> Command:
    """The command with wrong input, full disks and Ctrl-C told in one line and an exit code."""

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except ReadError as error:
            raise fail(str(error), BAD_INPUT) from None
        except FileExistsError as error:
            raise fail(f"{error.strerror or error}.", BAD_INPUT) from None
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            raise fail(f"{where}{error.strerror or error}.", FAILED) from None
        except KeyboardInterrupt:
            raise fail("stopped before there was anything to keep.", INTERRUPTED) from None

    return guarded  # type: ignore[return-value]


@contextmanager
def as_bad_input() -> Iterator[None]:
    """Errors of the library about its arguments are the user's input here; warnings become notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (ValueError, TypeError) as error:
            raise ReadError(str(error)) from error
        finally:
            for warning in caught:
                note(str(warning.message))


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
