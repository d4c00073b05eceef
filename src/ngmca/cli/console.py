"""Printing: results to stdout, progress, notes and errors to stderr.

Messages of the library know which arguments they mention; here they become options of the command line.
"""

import codecs
import json
import os
import sys
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper

from rich.console import Console
from rich.text import Text

from ngmca._support.messages import message, rendered
from ngmca.answers.how_sure import Finding
from ngmca.answers.run import Run
from ngmca.settings.option_names import as_flag

MAX_CHARACTERS = 500  # of a message; a damaged file may have cells with millions
CONTROL_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode's controls, hidden marks, line ends
SIMPLER = {"█": "#", "…": "...", "⁻": "-", "¹": "1", "²": "2", "µ": "u", "·": ".", "“": '"', "”": '"'}


def stdout() -> Console:
    """Return the console for results, made anew because tests and pipes replace stdout."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True, emoji=False)


def stderr() -> Console:
    """Return the console for progress, notes and errors."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=True, emoji=False)


def shows_progress(quiet: bool) -> bool:
    """Whether to draw progress bars."""
    return not quiet and stderr().is_terminal


def say(text: str, *, quiet: bool = False) -> None:
    """Print a line of the result."""
    if not quiet:
        stdout().print(one_line(rendered(text, as_flag)), markup=False)


def note(text: str, *, quiet: bool = False) -> None:
    """Print a remark that is not part of the result."""
    if not quiet:
        print_to_stderr(Text(f"note: {short_line(rendered(text, as_flag))}", style="dim"))


def print_to_stderr(text: Text) -> None:
    """Print to stderr; a full or closed stderr is no reason to stop."""
    with suppress(OSError):
        stderr().print(text)


def say_run(run: Run, *, quiet: bool = False) -> None:
    """Print the verdict with the next step, an answer to each question, the warnings, and the rest."""
    say(f"Verdict: {run.verdict.colour}. {run.verdict.text}", quiet=quiet)
    if run.verdict.next_step:
        say(f"Next step: {run.verdict.next_step}", quiet=quiet)
    if run.verdict.command:
        say(f"  {run.verdict.command}", quiet=quiet)
    for question, answer in run.answer_sentences:
        say(message("{} {}", question, answer), quiet=quiet)
    for sentence in _answers(run):
        say(sentence, quiet=quiet)
    for finding in run.findings:
        warning = as_warning(finding)
        say(f"! {warning['title']}. {warning['text']}", quiet=quiet)
    for sentence in run.summary:
        say(sentence, quiet=quiet)


def _answers(run: Run) -> list[str]:
    """Return the answers to questions about the sources, without their warnings."""
    asked = run.answers
    sentences: list[str] = []
    if asked.rank is not None:
        sentences.append(message("Number of sources: {}", asked.rank.advice))
    for answer in (asked.identification, asked.amounts):
        if answer is not None:
            sentences += [sentence for sentence in answer.words if sentence not in answer.warnings]
    return sentences if asked.detection is None else [*sentences, asked.detection.words]


def as_warning(finding: Finding) -> dict[str, str]:
    """Return a finding with arguments written as options."""
    text = rendered(finding.text, as_flag)
    return {"kind": finding.kind, "grade": finding.grade, "title": finding.title, "text": text}


def print_json(content: Mapping[str, object]) -> None:
    """Print one JSON object; infinite numbers and NaN become null."""
    print(json.dumps(_finite(content), indent=2, default=str))


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value


def one_line(text: str) -> str:
    r"""Return the text on one line, with control characters of a terminal written as \x1b."""
    lines = text.replace("\r", "\n").split("\n")
    flat = text if len(lines) == 1 else " ".join(line.strip() for line in lines if line.strip())
    if flat.isprintable():
        return flat
    return "".join(_escaped(c) if unicodedata.category(c) in CONTROL_CATEGORIES else c for c in flat)


def short_line(text: str) -> str:
    """Return one line of readable length: the beginning and the end of a longer text."""
    cut = text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 160]} ... {text[-150:]}"
    return one_line(cut)


def make_writable() -> None:
    """Let stdout and stderr print any text: characters without an encoding are simplified or escaped."""
    for name in ("COLUMNS", "LINES"):
        if not os.environ.get(name, "").strip("0"):  # on a screen of width 0 rich shows nothing
            os.environ.pop(name, None)
    codecs.register_error("ngmca", _simplified)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="ngmca")


def _simplified(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    return "".join(SIMPLER.get(c) or _escaped(c) for c in missing), error.end


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
