"""Messages as plain values (text, numbers, lists), for the way from one process to another."""

from typing import Any

from ngmca._support.messages import Message, Option

MARK = "\0"  # printable text does not contain it


def to_plain(text: str) -> list[Any]:
    """Return the pieces of a text: plain text and, in lists of their own, the arguments it mentions."""
    options: list[Option] = []

    def mark(found: Option) -> str:
        options.append(found)
        return MARK

    first, *others = (text.render(mark) if isinstance(text, Message) else text).split(MARK)
    pieces: list[Any] = [first]
    for found, after in zip(options, others, strict=bool(options)):
        pieces += [[found.name, found.value] if found.has_value else [found.name], after]
    return pieces


def from_plain(pieces: list[Any]) -> Message:
    """Return the text of which `to_plain` gave the pieces."""
    parts = [Option(*piece) if isinstance(piece, list) else piece for piece in pieces]
    return Message("{}" * len(parts), *parts)
