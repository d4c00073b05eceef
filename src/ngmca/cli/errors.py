"""Errors of the command line: one line on stderr, and an exit code."""

import functools
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TextIO, TypeVar

import typer
from rich.text import Text

from ngmca._support.extras import MissingPackageError
from ngmca._support.messages import ArgumentError, message, rendered
from ngmca.cli.console import make_writable, note, print_to_stderr, short_line
from ngmca.engines.gpu import GpuError
from ngmca.io import ReadError
from ngmca.saving.result_folder import UnfinishedError
from ngmca.settings.option_names import as_flag

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes, besides 0


def fail(text: str, code: int) -> typer.Exit:
    """Print an error in one line, and return the exit to raise."""
    print_to_stderr(Text.assemble(("error:", "bold red"), " ", short_line(rendered(text, as_flag))))
    return typer.Exit(code)


def one_line_errors(command: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Return the command; any error in it becomes one line and an exit code."""

    @functools.wraps(command)
    def guarded(*args: Arguments.args, **options: Arguments.kwargs) -> Returned:
        try:
            return command(*args, **options)
        except (Exception, KeyboardInterrupt) as error:
            raise _exit_after(error) from None

    return guarded


def _exit_after(error: BaseException) -> typer.Exit:
    """Print an error, and return the exit to raise."""
    match error:
        case typer.Exit():
            return error
        case UnfinishedError():
            text = f"{error} Continue it with: ngmca separate --resume {error.folder}"
            return fail(text, BAD_INPUT)
        case GpuError() | ReadError() | ArgumentError():
            return fail(_text_of(error), BAD_INPUT)
        case MissingPackageError():
            return fail(f"{error}.", BAD_INPUT)
        case FileExistsError():
            return fail(f"{rendered(error.strerror or str(error), as_flag)}.", BAD_INPUT)
        case BrokenPipeError():  # the reader, such as `head`, has stopped reading
            return typer.Exit(FAILED)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return fail(f"{where}{error.strerror or error}.", FAILED)
        case MemoryError():
            return fail(message("there is not enough memory for this. {}", _text_of(error)), BAD_INPUT)
        case UnicodeEncodeError(reason="surrogates not allowed"):  # a name that no file can hold
            return fail(f"a name is not valid UTF-8: {_invalid_word(error)}. Rename it.", BAD_INPUT)
        case KeyboardInterrupt():
            return fail("stopped before there was any result to keep.", INTERRUPTED)
    if hasattr(error, "format_message"):  # an error of typer, about the call
        return _exit_after_wrong_call(error)
    if os.environ.get("NGMCA_TRACEBACK"):
        traceback.print_exception(error)
    text = f"internal error: {type(error).__name__}: {short_line(str(error))}"
    return fail(f"{text}. Please report it; NGMCA_TRACEBACK=1 shows where it happened.", FAILED)


def _text_of(error: Exception | str) -> str:
    """Return the text of an error or warning, with the arguments it mentions."""
    text = error.args[0] if isinstance(error, Exception) and error.args else error
    return text if isinstance(text, str) else str(error)


def _invalid_word(error: UnicodeEncodeError) -> str:
    """Return the word around a character that is not text."""
    words = error.object.replace("\0", " ").replace('"', " ").split()
    return next(word for word in words if any("\ud800" <= c <= "\udfff" for c in word))


def _exit_after_wrong_call(error: BaseException) -> typer.Exit:
    """Return the exit after a wrong command, option or value; without any, the help was printed."""
    words: str = error.format_message().strip()  # type: ignore[attr-defined]
    if words and type(error).__name__ != "NoArgsIsHelpError":
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "ngmca"
        fail(f"{words.rstrip('.')}. See `{where} --help`.", BAD_INPUT)
    return typer.Exit(BAD_INPUT)


def run(app: Callable[..., int | None]) -> int:
    """Run an application of typer and return its exit code: not 0 if its results were not written."""
    if sys.stdout is None:
        return fail("stdout is closed: use > /dev/null to discard the output.", FAILED).exit_code
    if sys.stderr is not None:
        _flushed(sys.stderr)
    make_writable()
    warnings.showwarning = lambda warning, *_: note(_text_of(warning))
    try:
        code = one_line_errors(app)(prog_name="ngmca", standalone_mode=False) or 0
    except typer.Exit as stop:
        code = stop.exit_code
    except SystemExit as stop:  # of rich, when the reader stops reading, and of completion
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    error = _flushed(sys.stdout)
    code = code or (_exit_after(error).exit_code if error is not None else 0)
    if sys.stderr is not None:
        _flushed(sys.stderr)  # lost notes are no failure
    return code


def _flushed(stream: TextIO) -> OSError | None:
    """Write out a stream; after an error discard the rest, which Python would try to write again."""
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


@contextmanager
def as_bad_input() -> Iterator[None]:
    """Turn errors about arguments of the library into errors about the input, warnings into notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except (UnicodeError, ArgumentError):  # the former are about a name
            raise
        except (ValueError, TypeError) as error:
            raise ReadError(str(error)) from error
        finally:
            for warning in caught:
                note(_text_of(warning.message))
