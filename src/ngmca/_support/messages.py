"""Messages that know which arguments they mention, so that every door can use its own names for them.

The library writes ``message("{} must be at least 1, got {}.", option("r"), r)``. As a string this reads
"r must be at least 1, got 0."; the command line renders the same message as "-r must be at least 1".
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Option:
    """An argument of the library that a message mentions.

    Attributes
    ----------
    name : str
        Name of the argument, or of the class where the argument is a record, such as ``"Closure"``. If
        only the command line has such an option, the function that does the same: ``"ngmca.align"``.
    value : object
        Its value, where the message shows one.
    """

    name: str
    value: object = ...

    @property
    def has_value(self) -> bool:
        """Whether the message shows a value."""
        return self.value is not ...

    def __str__(self) -> str:
        if not self.has_value or self.name.startswith("ngmca."):
            return self.name
        if isinstance(self.value, tuple):  # the arguments of a method
            return f"{self.name}({', '.join(f'{one:g}' for one in self.value)})"
        if not self.name[0].isupper():
            return f"{self.name}={self.value!r}"
        return f"{self.name}({self.value!r})" if isinstance(self.value, str) else f"{self.name}()"


def option(name: str, value: object = ...) -> Option:
    """Return an argument, with or without its value, to put into a message."""
    return Option(name, value)


class Message(str):
    """A string that remembers the arguments it mentions.

    Parameters
    ----------
    template : str
        Text with one ``{}`` for each part.
    *parts : object
        What stands there: an `Option`, or anything else as `str` shows it.
    """

    template: str
    parts: tuple[object, ...]

    def __new__(cls, template: str, *parts: object) -> "Message":
        """Return the text as Python users read it."""
        made = super().__new__(cls, template.format(*parts) if parts else template)
        made.template, made.parts = template, parts
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments that the message mentions."""
        inside = (part.names for part in self.parts if isinstance(part, Message))
        own = tuple(part.name for part in self.parts if isinstance(part, Option))
        return own + tuple(name for names in inside for name in names)

    def render(self, show: Callable[[Option], str]) -> str:
        """Return the text with every argument as `show` writes it."""
        if not self.parts:
            return self.template
        return self.template.format(*(_shown(part, show) for part in self.parts))

    def __getnewargs__(self) -> tuple[object, ...]:  # type: ignore[override]
        return (self.template, *self.parts)


def _shown(part: object, show: Callable[[Option], str]) -> object:
    if isinstance(part, Option):
        return show(part)
    return part.render(show) if isinstance(part, Message) else part


def message(template: str, *parts: object) -> Message:
    """Return a message: `template` with ``{}`` replaced by the parts, options among them."""
    return Message(template, *parts)


def joined(messages: list[Message]) -> Message:
    """Return several messages as one, with spaces between them."""
    return Message(" ".join(["{}"] * len(messages)), *messages)


def rendered(text: str, show: Callable[[Option], str]) -> str:
    """Return a text with its arguments as `show` writes them; a plain string stays as it is."""
    return text.render(show) if isinstance(text, Message) else text


def warn_user(text: str) -> None:
    """Warn at the line of the user's code that called the library."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ngmca."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


_PLACE = "\0"  # stands for an argument in a text; printable text does not contain it


def to_plain(text: str) -> list[Any]:
    """Return the pieces of a text: plain text and, in lists of their own, the arguments it mentions.

    They consist of text, numbers and lists, so that they can be sent to another process.
    """
    options: list[Option] = []

    def mark(found: Option) -> str:
        options.append(found)
        return _PLACE

    first, *others = (text.render(mark) if isinstance(text, Message) else text).split(_PLACE)
    pieces: list[Any] = [first]
    for found, after in zip(options, others, strict=bool(options)):
        pieces += [[found.name, found.value] if found.has_value else [found.name], after]
    return pieces


def from_plain(pieces: list[Any]) -> Message:
    """Return the text of which `to_plain` gave the pieces."""
    parts = [Option(*piece) if isinstance(piece, list) else piece for piece in pieces]
    return Message("{}" * len(parts), *parts)


class ArgumentError(ValueError):
    """An argument has a value that does not work, alone or together with another argument.

    Parameters
    ----------
    template : str
        What is wrong and what to do, with one ``{}`` for each part; see `Message`.
    *parts : object
        What stands there.
    """

    def __init__(self, template: str, *parts: object) -> None:
        super().__init__(Message(template, *parts))

    @property
    def message(self) -> Message:
        """The text, with the arguments it mentions."""
        found: Message = self.args[0]
        return found

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.message.template, *self.message.parts)


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument is of the wrong type."""
