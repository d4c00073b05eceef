"""Options that several commands share, and arguments of the library written as options."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Annotated, Any

import typer

from ngmca._support.messages import Option
from ngmca.cli.settings import Settings

Data = Annotated[list[str], typer.Argument(help="Files or folders of measurements.")]
MovedData = Annotated[
    list[str] | None, typer.Argument(help="The data of the result, if they were moved.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]

OTHER_NAMES = {  # arguments of the library whose option has another name
    "r": "-r",
    "n_iter": "--iterations",
    "n_samples": "--samples",
    "Dataset.crop": "--range",
    "Unimodal": "--profiles",
    "Monotonic": "--profiles",
    "names": "names in Python",  # the command line has no such option
}
_SETTINGS = {part.name: part for part in fields(Settings) if part.metadata}
_OF_OTHERS = {"max_rank", "force", "compounds", "peaks", "snr"}


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
    kind: Any = part.metadata["kind"] or part.type
    option = Annotated[kind | None, part.metadata["option"]]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)


def flag(setting: str) -> str:
    """Return the option for a setting: --n-init for n_init."""
    return f"--{setting.replace('_', '-')}"


def flag_of(argument: str) -> str | None:
    """Return the option for an argument or a record of the library, or None if there is none."""
    small = "".join(f"_{one.lower()}" if one.isupper() else one for one in argument).removeprefix("_")
    known = small in (_SETTINGS.keys() | _OF_OTHERS) - {"sources"}
    return OTHER_NAMES.get(argument) or (flag(small) if known else None)


def as_flag(shown: Option) -> str:
    """Return an argument of the library as an option of the command line: --iterations 50."""
    name = flag_of(shown.name)
    if name is None:
        return str(shown)
    if not shown.has_value or shown.value is True:
        return name
    if isinstance(shown.value, tuple):
        return f"{name} {':'.join(f'{one:g}' for one in shown.value)}"
    if shown.name[0].isupper() and not isinstance(shown.value, str):
        return name
    return name.replace("--", "--no-") if shown.value is False else f"{name} {shown.value}"
