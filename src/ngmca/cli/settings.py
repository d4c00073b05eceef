"""Parameters of a run: from the command line, from run.toml, and written back to it."""

import os
import platform
import sys
import tomllib
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import tomli_w
import typer

from ngmca import io
from ngmca.domains import backgrounds
from ngmca.io import Dataset, ReadError
from ngmca.task.methods import OWN_METHODS

HEADER = "# Repeats this run: ngmca separate --config run.toml -o ANOTHER_FOLDER\n\n"
LIBRARIES = ("ngmca", "numpy", "scipy", "numba")
METHOD_OPTIONS = {
    "tau": "tau",
    "iterations": "n_iter",
    "refinement": "refinement",
    "penalised": "penalised",
}
MAY_BE_FILES: dict[str, tuple[str, ...]] = {  # settings that name a file, unless they are such a word
    "noise": ("poisson",),
    "known_sources": (),
    "known_mixing": (),
    "closure": (),
    "baseline": backgrounds.KINDS,
    "library": (),
    "standards": (),
    "responses": (),
}
ASKED_FILES = ("library", "standards", "responses")
ASKED = (*ASKED_FILES, "tolerance")  # of what was found: no change to it
AUTO = "auto"  # the number of sources is to be found out

# Options of the command line that say how to read, for all commands that do.
Transpose = Annotated[
    bool | None,
    typer.Option("--transpose/--no-transpose", help="Channels are in the rows (found out)."),
]
Range = Annotated[
    str | None, typer.Option("--range", help="Part of the axis, as 0.5:9.5.", metavar="LOW:HIGH")
]
Which = Annotated[str | None, typer.Option("--dataset", help="Which data, in a file that has several.")]
Nucleus = Annotated[str | None, typer.Option(help="Which NMR experiments, as 1H.")]
Axis = Annotated[
    str | None,
    typer.Option(
        "--axis", help="Where a table has its axis: first-column, first-row or none (found out)."
    ),
]
Header = Annotated[int | None, typer.Option(help="Line of a text that names its columns, 0 for none.")]
Skip = Annotated[int | None, typer.Option(help="Lines to pass over at the top of a text.")]
Columns = Annotated[str | None, typer.Option(help="Columns of a text that are data, as 2-5,7 or names.")]

# What is asked about sources, for all commands that answer.
Library = Annotated[
    str | None,
    typer.Option(help="Spectra of pure substances: which is each source?", metavar="FILE|FOLDER"),
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="How far a source may lie from its spectrum in --library, on the axis (0)."),
]
Standards = Annotated[
    str | None,
    typer.Option(help="Table of concentrations in some measurements: how much?", metavar="FILE"),
]
Responses = Annotated[
    str | None,
    typer.Option(help="Spectra of pure substances at concentration 1: how much?", metavar="FILE"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


@dataclass(frozen=True)
class Settings:
    """What to separate and how; the names are those of run.toml."""

    data: tuple[str, ...] = ()
    sources: int | Literal["auto"] | None = None
    method: str = "soft"
    tau: float | None = None
    iterations: int | str | None = None
    refinement: float | None = None
    seed: int = 0
    n_init: int | str = "auto"
    noise: float | str | None = None
    gain: float | None = None
    readout: float | None = None
    robust: bool = False
    known_sources: str | None = None
    known_mixing: str | None = None
    known_scale: str | None = None
    closure: float | str | None = None
    profiles: str | None = None
    baseline: str | None = None
    penalised: str | None = None
    domain: str = "auto"
    device: str = "cpu"
    posterior: bool = False
    samples: int | None = None
    library: str | None = None
    tolerance: float | None = None
    standards: str | None = None
    responses: str | None = None
    transpose: bool | None = None
    range: str | None = None
    dataset: str | None = None
    nucleus: str | None = None
    axis: str | None = None
    header: int | None = None
    skip: int | None = None
    columns: str | None = None

    def changed(self, **given: Any) -> "Settings":
        """The same with the values that were given, None standing for not given."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    def without(self, *names: str) -> "Settings":
        """The same without what is asked about the sources with these files."""
        tolerance = None if "library" in names else self.tolerance
        kept: dict[str, Any] = {
            name: None if name in names else getattr(self, name) for name in ASKED_FILES
        }
        return replace(self, **kept, tolerance=tolerance)

    def read(self) -> Dataset:
        """The data, cut to the range; those of a file too large for the memory stay where they are."""
        one = self.data[0] if len(self.data) == 1 else self.data
        names = ("transpose", "dataset", "nucleus", "axis", "header", "skip", "columns")
        data = io.read(one, large="leave", **{name: getattr(self, name) for name in names})
        if data.in_memory:
            return data.crop(*parse_range(self.range)) if self.range else data
        if self.range:
            raise ReadError(
                f"{self.data[0]} is too large for the memory, and --range would copy it: cut it first."
            )
        if self.device == "cuda":
            raise ReadError(
                f"{self.data[0]} is too large to be read whole, as --device cuda does: take --device "
                "cpu, or in Python ngmca.separate(numpy.load(..., mmap_mode='r'), ..., device='cuda')."
            )
        return data

    @property
    def method_options(self) -> dict[str, Any]:
        """Options of the method that were given, by their names in the library."""
        given = {name: getattr(self, setting) for setting, name in METHOD_OPTIONS.items()}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def files(self) -> dict[str, str]:
        """The settings that name a file, and its path."""
        found = {name: getattr(self, name) for name in MAY_BE_FILES}
        return {
            name: value
            for name, value in found.items()
            if isinstance(value, str) and value not in MAY_BE_FILES[name]
        }

    @property
    def number(self) -> int:
        """The number of sources, 1 as long as it is not known."""
        return self.sources if isinstance(self.sources, int) else 1

    def table(self) -> dict[str, Any]:
        """Return all settings by name, options of the method with their defaults where not given."""
        method = OWN_METHODS.get(self.method)
        defaults = {} if method is None else vars(method())
        own = {setting: defaults[name] for setting, name in METHOD_OPTIONS.items() if name in defaults}
        return own | {key: value for key, value in asdict(self).items() if value is not None}


def from_file(path: Path) -> tuple[Settings, dict[str, Any]]:
    """Settings in a TOML file, and the record of the run that wrote it, if any."""
    try:
        # names of files that are not UTF-8 stand there as they are
        content = tomllib.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path} is not a TOML file: {error}.") from error
    table = content.get("separate")
    if not isinstance(table, dict):
        raise ReadError(f"{path} has no table [separate].")
    kinds = get_type_hints(Settings)
    for key, value in table.items():
        if key not in kinds:
            raise ReadError(f"{path}: [separate] knows no {key!r}, only `{'`, `'.join(kinds)}`.")
        if not _fits(value, kinds[key]):
            raise ReadError(f"{path}: `{key} = {value!r}` in [separate] is of the wrong kind.")
    if "data" in table:
        table["data"] = tuple(str(path.parent / Path(one)) for one in table["data"])
    for name, value in Settings(**table).files.items():
        table[name] = str(path.parent / Path(value))
    record = content.get("record")
    return Settings(**table), record if isinstance(record, dict) else {}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value of a TOML file is of a kind; true and false are no numbers."""
    if get_origin(kind) in (UnionType, Union):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:  # of any length, which TOML calls an array
        return isinstance(value, list) and all(_fits(one, get_args(kind)[0]) for one in value)
    if isinstance(value, bool):
        return kind is bool
    if kind is float and isinstance(value, int):
        return value.bit_length() < 1024  # or no float is that large
    return isinstance(value, kind)


def to_toml(settings: Settings, record: dict[str, Any]) -> str:
    """The text of run.toml."""
    table = settings.table() | {"data": [os.path.abspath(one) for one in settings.data]}
    table |= {name: os.path.abspath(path) for name, path in settings.files.items()}
    return HEADER + tomli_w.dumps({"separate": table, "record": record})


def provenance(settings: Settings) -> dict[str, Any]:
    """Versions, machine and a hash of the input."""
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return {
        **versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "command": " ".join(["ngmca", *sys.argv[1:]]),
        "sha256": io.fingerprint([Path(one) for one in settings.data]),
        **{f"sha256_{name}": _hashed(name, Path(one)) for name, one in settings.files.items()},
    }


def _hashed(name: str, path: Path) -> str:
    """The hash of a file that an option names."""
    if not path.exists():
        words = {"noise": ", and is neither a number nor poisson", "closure": ", and is not a number"}
        flag = f"--{name.replace('_', '-')}"
        raise ReadError(f"{flag} {path}: this file does not exist{words.get(name, '')}.")
    return io.fingerprint([path])


def changed(before: dict[str, Any], now: dict[str, Any], *, besides: tuple[str, ...] = ()) -> str:
    """Which input is not what it was when a record was written, in words; empty if none."""
    for key, value in now.items():
        name = key.removeprefix("sha256").removeprefix("_")
        if key.startswith("sha256") and name not in besides and before.get(key, value) != value:
            return f"the file of --{name.replace('_', '-')}" if name else "the data"
    return ""


def count_or_auto(text: str | None) -> int | Literal["auto"] | None:
    """A number of sources, or that it is to be found out."""
    try:
        return None if text is None else "auto" if text == AUTO else int(text)
    except ValueError:
        raise ReadError(
            f"-r {text} is neither a number of sources nor auto. See `ngmca separate --help`."
        ) from None


def number_or_word(text: str | None) -> float | str | None:
    """A number, or what else was given, as the name of a file."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def parse_range(text: str) -> tuple[float, float]:
    """Both ends of 0.5:9.5."""
    low, mark, high = text.partition(":")
    try:
        if not mark:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise ReadError(
            f"--range {text} is not two numbers with a colon between them: 0.5:9.5."
        ) from None
