"""Options that several commands share, and settings as options."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

import typer

from ngmca.settings.settings import Settings

Data = Annotated[list[str], typer.Argument(help="Files or folders of measurements.")]
MovedData = Annotated[
    list[str] | None, typer.Argument(help="The data of the result, if they were moved.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]

_SETTINGS = {part.name: part for part in fields(Settings) if part.metadata}


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of some settings, by default of all of them.

    Its parameter `given` holds the values of those that were given. In the help they stand in its place.
    """
    wanted = names or tuple(_SETTINGS)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def called(**values: Any) -> None:
            given = {name: values.pop(name) for name in wanted}
            for name, value in given.items():
                read = _SETTINGS[name].metadata["read"]
                given[name] = read(value) if read and value is not None else value
            command(given={key: one for key, one in given.items() if one is not None}, **values)

        shown: list[inspect.Parameter] = []
        for one in inspect.signature(command).parameters.values():
            own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY)]
            shown += map(_parameter, wanted) if one.name == "given" else own
        called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return called

    return decorate


def _parameter(name: str) -> inspect.Parameter:
    """Return the option of a setting as a parameter of a command."""
    part = _SETTINGS[name]
    facts = part.metadata
    kind: Any = facts["kind"] or part.type
    completion = {"autocompletion": lambda: facts["choices"]} if facts["choices"] else {}
    option = Annotated[
        kind | None, typer.Option(*facts["flags"], help=facts["words"], **completion, **facts["more"])
    ]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
