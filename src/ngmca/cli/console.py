"""What the command line says: results on stdout, progress and complaints on stderr.

Messages of the library know which arguments they mention; here they become options of the command line.
"""

import functools
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from ngmca._support.messages import ArgumentError, Option, rendered
from ngmca.answers.how_sure import Finding
from ngmca.answers.run import Run
from ngmca.cli.terminal import make_writable, message, one_line
from ngmca.engines.gpu import GpuError
from ngmca.io import ReadError
from ngmca.saving.result_folder import UnfinishedError

Command = TypeVar("Command", bound=Callable[..., Any])

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes beside 0
FLAGS = {  # arguments and records of the library, and the options of the command line for them
    "Baseline": "--baseline",
    "Closure": "--closure",
    "KnownMixing": "--known-mixing",
    "KnownSources": "--known-sources",
    "Monotonic": "--profiles",
    "Unimodal": "--profiles",
    "Dataset.crop": "--range",
    "crop": "--range",
    "n_init": "--n-init",
    "r": "-r",
    "method": "--method",
    "tau": "--tau",
    "n_iter": "--iterations",
    "refinement": "--refinement",
    "noise": "--noise",
    "gain": "--gain",
    "readout": "--readout",
    "robust": "--robust",
    "known_sources": "--known-sources",
    "known_mixing": "--known-mixing",
    "known_scale": "--known-scale",
    "closure": "--closure",
    "profiles": "--profiles",
    "baseline": "--baseline",
    "penalised": "--penalised",
    "device": "--device",
    "domain": "--domain",
    "seed": "--seed",
    "posterior": "--posterior",
    "n_samples": "--samples",
    "library": "--library",
    "tolerance": "--tolerance",
    "standards": "--standards",
    "responses": "--responses",
    "max_rank": "--max-rank",
    "folds": "--folds",
    "entries": "--entries",
    "transpose": "--transpose",
    "dataset": "--dataset",
    "nucleus": "--nucleus",
    "axis": "--axis",
    "header": "--header",
    "skip": "--skip",
    "columns": "--columns",
    "force": "--force",
    "compounds": "--compounds",
    "peaks": "--peaks",
    "snr": "--snr",
}


def as_flag(shown: Option) -> str:
    """Return an argument of the library as an option of the command line: --iterations 50."""
    flag = FLAGS.get(shown.name)
    if flag is None:
        return str(shown)
    if not shown.has_value or shown.value is True or shown.name[0].isupper():
        return flag
    return flag.replace("--", "--no-") if shown.value is False else f"{flag} {shown.value}"


def stdout() -> Console:
    """The console for results, as it is now: tests and pipes replace it."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False)


def stderr() -> Console:
    """The console for progress, notes and complaints."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=True, emoji=False)


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line of the result."""
    if not quiet:
        stdout().print(one_line(text), markup=False)


def say_run(run: Run, *, quiet: bool = False) -> None:
    """Print what was found, and the warnings."""
    for sentence in (*run.summary, *_answers(run)):
        say(rendered(sentence, as_flag), quiet=quiet)
    for finding in run.findings:
        told = as_warning(finding)
        say(f"! {told['title']}. {told['text']}", quiet=quiet)


def _answers(run: Run) -> list[str]:
    """What was asked besides, in words."""
    asked = run.answers
    said = [] if asked.rank is None else [f"Number of sources: {asked.rank.advice}"]
    for answer in (asked.identification, asked.amounts):
        if answer is not None:
            said += [sentence for sentence in answer.words if sentence not in answer.warnings]
    return said


def as_warning(finding: Finding) -> dict[str, str]:
    """A finding in words of the command line."""
    return {"kind": finding.kind, "title": finding.title, "text": rendered(finding.text, as_flag)}


def note(text: str, *, quiet: bool = False) -> None:
    """Print a remark that is not part of the result."""
    if not quiet:
        _complain(Text(f"note: {message(rendered(text, as_flag))}", style="dim"))


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
    _complain(Text.assemble(("error:", "bold red"), " ", message(text)))
    return typer.Exit(code)


def _complain(text: Text) -> None:
    """Print on stderr; where it is full or closed nobody listens, which is no reason to stop."""
    with suppress(OSError):
        stderr().print(text)


def one_line_errors(command: Command) -> Command:
    """The command with whatever goes wrong told in one line and an exit code."""

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except (Exception, KeyboardInterrupt) as error:
            raise _told(error) from None

    return guarded  # type: ignore[return-value]


def _told(error: BaseException) -> typer.Exit:
    """The exit for an error, which is told."""
    match error:
        case typer.Exit():
            return error
        case UnfinishedError():
            return fail(f"{error} Go on with `ngmca separate --resume {error.folder}`.", BAD_INPUT)
        case GpuError() | ReadError() | ArgumentError():
            text = error.args[0] if error.args else ""
            return fail(rendered(text, as_flag) if isinstance(text, str) else str(error), BAD_INPUT)
        case FileExistsError():
            return fail(f"{rendered(error.strerror or str(error), as_flag)}.", BAD_INPUT)
        case BrokenPipeError():  # who reads has enough, as `head`
            return typer.Exit(FAILED)
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return fail(f"{where}{error.strerror or error}.", FAILED)
        case MemoryError():
            return fail(f"this needs more memory than there is. {error}", BAD_INPUT)
        case UnicodeEncodeError(reason="surrogates not allowed"):  # a name that no file can hold
            return fail(f"a name is not text in UTF-8: {_odd_name(error)}. Rename it.", BAD_INPUT)
        case KeyboardInterrupt():
            return fail("stopped before there was anything to keep.", INTERRUPTED)
    if hasattr(error, "format_message"):  # of typer, about how it was called
        return _misused(error)
    if os.environ.get("NGMCA_TRACEBACK"):
        traceback.print_exception(error)
    told = f"internal error: {type(error).__name__}: {message(str(error))}"
    return fail(f"{told}. Please report it; NGMCA_TRACEBACK=1 shows where it is.", FAILED)


def _odd_name(error: UnicodeEncodeError) -> str:
    """Return the word around a character that is not text."""
    words = error.object.replace("\0", " ").replace('"', " ").split()
    return next(word for word in words if any("\ud800" <= c <= "\udfff" for c in word))


def _misused(error: Any) -> typer.Exit:
    """The exit after a wrong command, option or value; a command without any has shown its help."""
    words = error.format_message().strip()
    if words and type(error).__name__ != "NoArgsIsHelpError":
        where = error.ctx.command_path if getattr(error, "ctx", None) else "ngmca"
        fail(f"{words.rstrip('.')}. See `{where} --help`.", BAD_INPUT)
    return typer.Exit(BAD_INPUT)


def run(app: Callable[..., Any]) -> int:
    """Run an application of typer; its exit code, which is not 0 if its results did not arrive."""
    if sys.stdout is None:
        return fail("stdout is closed: > /dev/null throws away what is said.", FAILED).exit_code
    if sys.stderr is not None:
        _flushed(sys.stderr)  # what was said before, and nobody gets
    make_writable()
    warnings.showwarning = lambda warning, *_: note(_text_of(warning))
    try:
        code = one_line_errors(app)(prog_name="ngmca", standalone_mode=False) or 0
    except typer.Exit as stop:
        code = stop.exit_code
    except SystemExit as stop:  # of rich, when who reads has enough, and of completion
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    error = _flushed(sys.stdout)
    code = code or (_told(error).exit_code if error is not None else 0)
    if sys.stderr is not None:
        _flushed(sys.stderr)  # remarks that nobody gets cost nothing
    return code


def _flushed(stream: TextIO) -> OSError | None:
    """Write out what is left; what cannot be is thrown away, or Python would try once more, and fail."""
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def _text_of(warning: Warning | str) -> str:
    """Return the text of a warning, with the arguments it mentions."""
    text = warning.args[0] if isinstance(warning, Warning) and warning.args else warning
    return text if isinstance(text, str) else str(text)


@contextmanager
def as_bad_input() -> Iterator[None]:
    """Errors of the library about its arguments are the user's input here; warnings become notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except UnicodeError:  # about a name, not about an argument
            raise
        except ArgumentError:
            raise
        except (ValueError, TypeError) as error:
            raise ReadError(str(error)) from error
        finally:
            for warning in caught:
                note(_text_of(warning.message))
