"""Arguments of the library and settings, written as options of the command line."""

import shlex
from dataclasses import fields

from ngmca._support.messages import Option
from ngmca.settings.settings import Settings

OTHER_NAMES = {  # arguments of the library whose option has another name
    "r": "-r",
    "n_iter": "--iterations",
    "n_samples": "--samples",
    "Dataset.crop": "--range",
    "ngmca.align": "--align",
    "Unimodal": "--profiles",
    "Monotonic": "--profiles",
    "KnownMixing(..., sd=...)": "--known-mixing-sd",
    "names": "names in Python",  # the command line has no such option
}
_SETTINGS = {part.name for part in fields(Settings) if part.metadata}
_OF_OTHERS = {"max_rank", "force", "compounds", "peaks", "snr"}


def flag(setting: str) -> str:
    """Return the option for a setting: --n-init for n_init."""
    return f"--{setting.replace('_', '-')}"


def flag_of(argument: str) -> str | None:
    """Return the option for an argument or a record of the library, or None if there is none."""
    small = "".join(f"_{one.lower()}" if one.isupper() else one for one in argument).removeprefix("_")
    known = small in (_SETTINGS | _OF_OTHERS) - {"sources"}
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
    return (
        name.replace("--", "--no-")
        if shown.value is False
        else f"{name} {shlex.quote(str(shown.value))}"
    )


def setting_of(argument: str) -> str:
    """Return the setting for an argument or a record of the library that has an option."""
    name = flag_of(argument) or ""
    return "sources" if name == "-r" else name.removeprefix("--").replace("-", "_")
