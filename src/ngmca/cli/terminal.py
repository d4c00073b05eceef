"""Text as a terminal can bear it: no character that steers it, none that it cannot show."""

import codecs
import os
import re
import sys
import unicodedata
from io import TextIOWrapper

LONGEST = 500  # letters of a message; a cell of a damaged file may have millions
STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode's controls, hidden marks, half characters, line ends
SIMPLER = {"█": "#", "…": "...", "⁻": "-", "¹": "1", "²": "2", "µ": "u", "·": ".", "“": '"', "”": '"'}


def one_line(text: str) -> str:
    r"""The text on one line, with characters that steer a terminal written out, as \x1b."""
    flat = re.sub(r"\s*[\r\n]\s*", " ", text)
    if flat.isprintable():
        return flat
    return "".join(_written_out(c) if unicodedata.category(c) in STEERING else c for c in flat)


def message(text: str) -> str:
    """One line of a length that can be read: beginning and end of a longer text."""
    cut = text if len(text) <= LONGEST else f"{text[: LONGEST - 160]} ... {text[-150:]}"
    return one_line(cut)


def make_writable() -> None:
    """Let stdout and stderr take any text: what their encoding lacks is simplified or written out."""
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
    lacking = error.object[error.start : error.end]
    return "".join(SIMPLER.get(c) or _written_out(c) for c in lacking), error.end


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode()
