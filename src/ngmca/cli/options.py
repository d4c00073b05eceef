"""Options that several commands share, and arguments of the library written as options."""

from dataclasses import fields
from typing import Annotated

import typer

from ngmca._support.messages import Option
from ngmca.cli.settings import Settings

# How to read the data.
Transpose = Annotated[
    bool | None,
    typer.Option("--transpose/--no-transpose", help="Each row is a channel (detected)."),
]
Range = Annotated[
    str | None,
    typer.Option("--range", help="Use this part of the axis only, as 0.5:9.5.", metavar="LOW:HIGH"),
]
Which = Annotated[
    str | None, typer.Option("--dataset", help="Name of the data, in a file with several.")
]
Nucleus = Annotated[str | None, typer.Option(help="Read NMR experiments of this nucleus only, as 1H.")]
Axis = Annotated[
    str | None,
    typer.Option(
        "--axis", help="Where the axis of a table is: first-column, first-row or none (detected)."
    ),
]
Header = Annotated[
    int | None, typer.Option(help="Line of a text file that names the columns; 0 for none (detected).")
]
Skip = Annotated[int | None, typer.Option(help="Lines to skip at the top of a text file (0).")]
Columns = Annotated[
    str | None, typer.Option(help="Columns of a text file to read: 2-5,7 or names (all).")
]

# Questions about the sources.
Library = Annotated[
    str | None,
    typer.Option(help="Spectra of pure substances, to identify the sources.", metavar="FILE|FOLDER"),
]
Tolerance = Annotated[
    float | None,
    typer.Option(
        help="Largest shift between a source and its spectrum in --library, in axis units (0)."
    ),
]
Standards = Annotated[
    str | None,
    typer.Option(
        help="Table of known concentrations in some measurements, to calibrate all amounts.",
        metavar="FILE",
    ),
]
Responses = Annotated[
    str | None,
    typer.Option(
        help="Spectra of pure substances at concentration 1, to calibrate all amounts.", metavar="FILE"
    ),
]

# What to print.
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]

OTHER_NAMES = {  # arguments of the library whose option has another name
    "r": "-r",
    "n_iter": "--iterations",
    "n_samples": "--samples",
    "Dataset.crop": "--range",
    "Unimodal": "--profiles",
    "Monotonic": "--profiles",
}
_OF_SEPARATE = {part.name for part in fields(Settings)} - {"data", "sources"}
_OF_OTHERS = {"max_rank", "folds", "entries", "force", "compounds", "peaks", "snr"}


def flag(setting: str) -> str:
    """Return the option for a setting: --n-init for n_init."""
    return f"--{setting.replace('_', '-')}"


def flag_of(argument: str) -> str | None:
    """Return the option for an argument or a record of the library, or None if there is none."""
    small = "".join(f"_{one.lower()}" if one.isupper() else one for one in argument).removeprefix("_")
    known = small in _OF_SEPARATE | _OF_OTHERS
    return OTHER_NAMES.get(argument) or (flag(small) if known else None)


def as_flag(shown: Option) -> str:
    """Return an argument of the library as an option of the command line: --iterations 50."""
    name = flag_of(shown.name)
    if name is None:
        return str(shown)
    if not shown.has_value or shown.value is True or shown.name[0].isupper():
        return name
    return name.replace("--", "--no-") if shown.value is False else f"{name} {shown.value}"
