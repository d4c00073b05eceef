"""The error that readers raise, and texts out of files made safe to print."""

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ngmca._support.extras import MissingPackageError, load_extra
from ngmca._support.messages import ArgumentError, Message, Option

MAX_ERROR_CHARACTERS = 1000  # a file may have a cell of 50 MB, and an error may quote it
MAX_QUOTED_CHARACTERS = 300
UNSAFE_CATEGORIES = ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp")  # of Unicode


class ReadError(ArgumentError):
    r"""A file or folder cannot be read, or not as the arguments ask.

    The text says what is wrong, where, and what to do. It is one printable line of at most 1000
    characters, even if it quotes a damaged file.

    Parameters
    ----------
    template : str
        The text, with one ``{}`` for each part.
    *parts : object
        Paths, numbers, quoted texts, and arguments of the library as `option` objects.

    Attributes
    ----------
    message : Message
        The text, with the arguments that it mentions.

    Examples
    --------
    >>> from ngmca._support.messages import option
    >>> error = ReadError("{} has no axis: give {}.", "a\x1b.csv", option("axis", "none"))
    >>> print(error)
    a\x1b.csv has no axis: give axis='none'.
    >>> error.message.names
    ('axis',)
    """

    def __init__(self, template: str, *parts: object) -> None:
        message = _safe(Message(template, *parts))
        if len(message) > MAX_ERROR_CHARACTERS:
            message = Message(shortened(message, MAX_ERROR_CHARACTERS))
        super().__init__(message.template, *message.parts)


def _safe(message: Message) -> Message:
    return Message(printable(message.template), *map(_safe_part, message.parts))


def _safe_part(part: object) -> object:
    """Return a part of a message that is printable and not too long."""
    if isinstance(part, Message):
        return _safe(part)
    if part is None or isinstance(part, Option | int | float):
        return part
    return printable(shortened(str(part), MAX_QUOTED_CHARACTERS))


@contextmanager
def damaged(words: str) -> Iterator[None]:
    """Turn errors of other libraries, which damaged files cause, into ReadErrors with these words."""
    try:
        yield
    except (ReadError, MemoryError):
        raise
    except Exception as error:  # libraries raise errors of any type
        raise ReadError("{}: {}.", words, reason(error)) from error


def check_held(path: Any, announced: Any, held: Any, what: str) -> None:
    """Raise an error if a file holds another number of something than it announces."""
    if announced != held:
        raise ReadError(
            f"{path} announces {announced} {what}, but holds {held}: it is truncated or damaged."
        )


def require(module: str, purpose: str) -> Any:
    """Return a module that reads a format; raise an error that says how to install it."""
    try:
        return load_extra(module, f"reading {purpose}")
    except MissingPackageError as error:
        raise ReadError("{}.", str(error)) from error


def printable(text: Any) -> str:
    r"""Return a name or text with control characters and invalid UTF-8 written as ``\x1b``."""
    text = str(text)
    unsafe = {c for c in set(text) if unicodedata.category(c) in UNSAFE_CATEGORIES}
    return text if not unsafe else "".join(_escaped(c) if c in unsafe else c for c in text)


def reason(error: BaseException, longest: int = MAX_QUOTED_CHARACTERS) -> str:
    """Return the text of another library's error on one line."""
    return " ".join(shortened(str(error), longest).split()).rstrip(".") or type(error).__name__


def shortened(text: str, longest: int) -> str:
    """Return a text of about `longest` characters at most, with its middle left out."""
    return text if len(text) <= longest else f"{text[: longest // 2]} ... {text[-longest // 3 :]}"


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how Python keeps a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()
