"""What the command line says: results on stdout, progress and complaints on stderr.

The library speaks of its own arguments; here, and only here, they become options of the command line.
"""

import functools
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape

from ngmca.diagnosis import Finding
from ngmca.io import ReadError
from ngmca.saving.result_folder import UnfinishedError
from ngmca.saving.results import Run

Command = TypeVar("Command", bound=Callable[..., Any])

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130  # exit codes beside 0
FLAGS = {  # arguments of the library, and what they are called here
    "r": "-r",
    "method": "--method",
    "tau": "--tau",
    "n_iter": "--iterations",
    "refinement": "--refinement",
    "noise": "--noise",
    "domain": "--domain",
    "seed": "--seed",
    "posterior": "--posterior",
    "transpose": "--transpose",
    "dataset": "--dataset",
    "nucleus": "--nucleus",
    "force": "--force",
    "compounds": "--compounds",
    "peaks": "--peaks",
    "snr": "--snr",
}
NO_WORDS = ("tau", "n_iter")  # names that are arguments wherever they stand
_APART = r"(?<![\w/\\.`=-])"  # not inside a path, a longer name or an option
_GIVEN = re.compile(_APART + rf"({'|'.join(FLAGS)})=('[^']*'|\"[^\"]*\"|[\w./+-]*\w|)")
_ALONE = re.compile(_APART + rf"({'|'.join(NO_WORDS)})(?![\w/\\=-]|\.\w)")
_SUBJECT = re.compile(rf"^({'|'.join(FLAGS)})(?= (?:must|has no meaning))")
_CROP = re.compile(r"\bDataset\.crop\b")


def in_flags(text: str) -> str:
    """The text with arguments of the library as options here: n_iter=50 as --iterations 50.

    The library writes an argument as `name=`, with or without a value.
    """
    text = _CROP.sub("--range", _GIVEN.sub(_flag, text))
    return _ALONE.sub(lambda found: FLAGS[found[1]], _SUBJECT.sub(lambda found: FLAGS[found[1]], text))


def _flag(found: re.Match[str]) -> str:
    flag, value = FLAGS[found[1]], found[2].strip("'\"")
    if value == "False":
        return flag.replace("--", "--no-")
    return f"{flag} {value}" if value not in ("", "True") else flag


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


def say_run(run: Run, *, quiet: bool = False) -> None:
    """Print what was found, and the warnings."""
    for sentence in run.summary:
        say(sentence, quiet=quiet)
    for finding in run.findings:
        told = as_warning(finding)
        say(f"! {told['title']}. {told['text']}", quiet=quiet)


def as_warning(finding: Finding) -> dict[str, str]:
    """A finding in words of the command line."""
    return {"kind": finding.kind, "title": finding.title, "text": in_flags(finding.text)}


def note(text: str, *, quiet: bool = False) -> None:
    """Print a remark that is not part of the result."""
    if not quiet:
        stderr().print(f"note: {in_flags(text)}", markup=False, style="dim")


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
    stderr().print(f"[bold red]error:[/] {escape(' '.join(text.split()))}")
    return typer.Exit(code)


def one_line_errors(command: Command) -> Command:
    """The command with wrong input, full disks and Ctrl-C told in one line and an exit code."""

    @functools.wraps(command)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return command(*args, **options)
        except UnfinishedError as error:
            onward = f"Go on with `ngmca separate --resume {error.folder}`."
            raise fail(f"{error} {onward}", BAD_INPUT) from None
        except ReadError as error:
            raise fail(in_flags(str(error)), BAD_INPUT) from None
        except FileExistsError as error:
            raise fail(f"{in_flags(error.strerror or str(error))}.", BAD_INPUT) from None
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
