"""Settings of a run: given as options, read from run.toml, and written to it."""

import os
import platform
import sys
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from importlib import metadata
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import tomli_w
import typer

from ngmca import io
from ngmca._support.arguments import check_choice
from ngmca._support.messages import ArgumentError, Message, message, option
from ngmca.domains import backgrounds
from ngmca.engines import DEVICES, join_techniques
from ngmca.io import Dataset, ReadError
from ngmca.io.row_coordinates import with_rows
from ngmca.saving import result_folder
from ngmca.separation import SHARED
from ngmca.task.methods import METHOD_NAMES, OWN_METHODS, Soft
from ngmca.task.task import AUTOMATIC_STARTS, DOMAINS

AUTO = "auto"
METHOD_OPTIONS = {
    "tau": "tau",
    "iterations": "n_iter",
    "refinement": "refinement",
    "penalised": "penalised",
}
QUESTION_FILES = ("library", "standards", "responses")
READING = ("transpose", "range", "dataset", "nucleus", "axis", "header", "skip", "columns", "axes",
           "axis_name", "axis_unit", "axis_direction", "rows")  # fmt: skip
# questions about the sources, which do not change the separation
QUESTIONS = (*QUESTION_FILES, "tolerance", "detect")
WORDS_FOR_FILES: dict[str, tuple[str, ...]] = {  # settings that name a file, or are one of these words
    "noise": ("poisson",),
    "known_sources": (),
    "known_mixing": (),
    "known_mixing_sd": (),
    "closure": (),
    "baseline": ("auto", "none", *backgrounds.KINDS),
    "times": (),
    **dict.fromkeys(QUESTION_FILES, ()),
}


def setting(
    words: str,
    *flags: str,
    default: Any = None,
    kind: type | None = None,
    read: Callable[[Any], Any] | None = None,
    **more: Any,
) -> Any:
    """Return the field of a setting that is also an option of the command line.

    Parameters
    ----------
    words : str
        The help of the option, with its default in brackets.
    *flags : str
        How the option is written, unless it is like the name of the setting.
    default : object
        The default of the setting.
    kind : type, optional
        The type of the option, if it is not that of the setting; with `read` it is text.
    read : callable, optional
        Returns the value of the setting from the text of the option.
    **more
        Further arguments of `typer.Option`.
    """
    option = typer.Option(*flags, help=words, **more)
    kind = str if read else kind
    return field(default=default, metadata={"option": option, "kind": kind, "read": read})


def count_or_auto(text: str) -> int | Literal["auto"]:
    """Return a number of sources, or "auto"."""
    try:
        return "auto" if text == AUTO else int(text)
    except ValueError:
        raise ReadError(
            f"-r {text} is not a number of sources. Give a number, as -r 4, or -r auto to choose it."
        ) from None


def number_or_word(text: str) -> float | str:
    """Return a number; other words, such as the name of a file, as they are."""
    try:
        return float(text)
    except ValueError:
        return text


@dataclass(frozen=True)
class Settings:
    """What to separate and how. run.toml uses the same names; None stands for not given."""

    data: tuple[str, ...] = ()
    sources: int | Literal["auto"] | None = setting(
        "Number of sources, or auto to choose it.",
        *("-r", "--sources"),
        read=count_or_auto,
        metavar="NUMBER|auto",
    )
    shared: str = setting(
        "What several files share: sources (they are rows of one table), or mixing (techniques such as "
        "infrared and Raman that measured the same samples).",
        default="sources",
        autocompletion=lambda: SHARED,
    )
    method: str = setting(
        f"Algorithm: {', '.join(METHOD_NAMES)} (soft).",
        default="soft",
        autocompletion=lambda: METHOD_NAMES,
    )
    tau: float | None = setting(f"Set signals below this many noise levels to 0 (default {Soft.tau:g}).")
    iterations: int | str | None = setting("Largest number of iterations (automatic).", kind=int)
    refinement: float | None = setting(
        f"Share of the iterations with the final --tau (default {Soft.refinement:g})."
    )
    seed: int = setting("Seed of the random numbers (0).", default=0)
    n_init: int | str = setting(
        f"Number of first guesses to try ({AUTOMATIC_STARTS}; 1 for large data).",
        default="auto",
        kind=int,
        min=1,
    )
    noise: float | str | None = setting(
        "Noise: its standard deviation, a file of them, or poisson for counts (estimated).",
        read=number_or_word,
        metavar="VALUE|poisson|FILE",
    )
    gain: float | None = setting("With --noise poisson: value of one event in the data (1).")
    readout: float | None = setting("With --noise poisson: standard deviation of the readout noise (0).")
    robust: bool = setting(
        "Ignore spikes that no source explains.", "--robust/--no-robust", default=False
    )
    known_sources: str | None = setting("Known spectra, for the first sources.", metavar="FILE")
    known_mixing: str | None = setting(
        "Known amounts, one row for each measurement; empty cells are unknown.", metavar="FILE"
    )
    known_mixing_sd: float | str | None = setting(
        "Standard deviations of --known-mixing (0: its values are exact).",
        read=number_or_word,
        metavar="VALUE|FILE",
    )
    known_scale: str | None = setting("Whether the scale of --known-sources is fixed or free (fixed).")
    closure: float | str | None = setting(
        "Total of the amounts in each measurement.", read=number_or_word, metavar="TOTAL|FILE"
    )
    closure_kind: str | None = setting("Whether sums are equal, at most or at least --closure (equal).")
    kinetics: str | None = setting(
        "Amounts follow a rate law, as 'A -> B -> C', 'A + B -> C' or 'A <-> B, A -> C'."
    )
    kinetics_start: str | None = setting(
        "Amounts at time 0 of --kinetics, as A=0.1,B=0.2 (1 of the first species)."
    )
    times: str | None = setting(
        "Time of each measurement for --kinetics (names of the measurements if these are numbers).",
        metavar="FILE",
    )
    profiles: str | None = setting(
        "Amounts are unimodal, increasing or decreasing along the measurements."
    )
    baseline: str | None = setting(
        "Smooth background in each measurement: none, "
        f"{', '.join(backgrounds.KINDS)}, or a file of curves. auto looks whether there is one "
        "(auto; none with other knowledge).",
        metavar="auto|none|KIND|FILE",
    )
    penalised: str | None = setting("Which factor is sparse: sources S, amounts A, or both (S).")
    domain: str = setting(
        "Where sources are sparse: direct (in channels) or wavelet (smooth bands). The default, auto, "
        "lets the data decide.",
        default="auto",
        autocompletion=lambda: DOMAINS,
    )
    device: str = setting(
        "Where to compute: cpu, or cuda for a GPU (cpu).", default="cpu", autocompletion=lambda: DEVICES
    )
    posterior: bool = setting(
        "Compute error bars by sampling. Later: `ngmca posterior OUT`.",
        "--posterior/--no-posterior",
        default=False,
    )
    samples: int | None = setting("With --posterior: samples of each chain (automatic).")
    ambiguity: bool = setting(
        "Find other mixtures of the sources that fit as well. Later: `ngmca ambiguity OUT`.",
        "--ambiguity/--no-ambiguity",
        default=False,
    )
    library: str | None = setting(
        "Spectra of pure substances, to identify the sources.", metavar="FILE|FOLDER"
    )
    tolerance: float | None = setting(
        "Largest shift between a source and its spectrum in --library, in axis units (0)."
    )
    detect: str | None = setting(
        "Name of a spectrum in --library: find how little of this substance would have been seen.",
        metavar="NAME",
    )
    standards: str | None = setting(
        "Table of known concentrations in some measurements, to calibrate all amounts.", metavar="FILE"
    )
    responses: str | None = setting(
        "Spectra of pure substances at concentration 1, to calibrate all amounts.", metavar="FILE"
    )
    transpose: bool | None = setting("Each row is a channel (detected).", "--transpose/--no-transpose")
    range: str | None = setting(
        "Use this part of the axis only, as 0.5:9.5.",
        metavar="LOW:HIGH",
    )
    dataset: str | None = setting("Name of the data, in a file with several.")
    nucleus: str | None = setting("Read NMR experiments of this nucleus only, as 1H.")
    axis: str | None = setting(
        "Where the axis of a table is: first-column, first-row or none (detected)."
    )
    header: int | None = setting("Line of a text file that names the columns; 0 for none (detected).")
    skip: int | None = setting("Lines to skip at the top of a text file (0).")
    columns: str | None = setting("Columns of a text file to read: 2-5,7 or names (all).")
    axes: str | None = setting("What each dimension of an array is, as time,pixel,channel (detected).")
    axis_name: str | None = setting("Name of the axis, as wavenumber (from the file).")
    axis_unit: str | None = setting("Unit of the axis, as cm-1 (from the file).")
    axis_direction: str | None = setting("How figures draw the axis: rising or falling (by its kind).")
    rows: str | None = setting(
        "Coordinates of the measurements: 'time [h]' if their names are numbers, 'time [h] 0:0.5', or a "
        "file with one number for each.",
        metavar="TEXT|FILE",
    )

    def changed(self, **given: Any) -> "Settings":
        """Return the settings with the values that are given; None stands for not given."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    def without(self, *names: str) -> "Settings":
        """Return the settings without the questions that need these files."""
        gone = {*names, *(("tolerance", "detect") if "library" in names else ())}
        kept: dict[str, Any] = {
            name: None if name in gone else getattr(self, name) for name in QUESTIONS
        }
        return replace(self, **kept)

    def read(self) -> Dataset:
        """The data, cut to the range; those of a file too large for the memory stay where they are."""
        options = {name: getattr(self, name) for name in READING if name not in ("range", "rows")}
        if check_choice(self.shared, "shared", SHARED) == "mixing":
            return self._read_techniques(options)
        one = self.data[0] if len(self.data) == 1 else self.data
        data = io.read(one, large="leave", **options)
        data = data if self.rows is None else with_rows(data, self.rows)
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

    def _read_techniques(self, options: dict[str, Any]) -> Dataset:
        """Return the files of several techniques, joined along the channels."""
        parts = [io.read(one, **options) for one in self.data]
        ends = [parse_range(one) for one in self.range.split(",")] if self.range else []
        if len(ends) not in (0, 1, len(parts)):
            raise ReadError(f"--range {self.range} has {len(ends)} ranges for {len(parts)} techniques.")
        if ends:
            ends = ends * len(parts) if len(ends) == 1 else ends
            parts = [part.crop(*both) for part, both in zip(parts, ends, strict=True)]
        data = join_techniques(parts)
        return data if self.rows is None else with_rows(data, self.rows)

    @property
    def method_options(self) -> dict[str, Any]:
        """Options of the method that were given, by their names in the library."""
        given = {name: getattr(self, setting) for setting, name in METHOD_OPTIONS.items()}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def files(self) -> dict[str, str]:
        """The paths of all files that the settings name, except the data."""
        values = {name: getattr(self, name) for name in WORDS_FOR_FILES}
        if self.rows is not None and Path(self.rows).is_file():
            values["rows"] = self.rows
        return {
            name: value
            for name, value in values.items()
            if isinstance(value, str) and value not in WORDS_FOR_FILES.get(name, ())
        }

    @property
    def number(self) -> int:
        """The number of sources, or 1 while it is not known."""
        return self.sources if isinstance(self.sources, int) else 1

    def table(self) -> dict[str, Any]:
        """Return all settings by name, options of the method with their defaults where not given."""
        method = OWN_METHODS.get(self.method)
        defaults = {} if method is None else vars(method())
        own = {setting: defaults[name] for setting, name in METHOD_OPTIONS.items() if name in defaults}
        return own | {key: value for key, value in asdict(self).items() if value is not None}


def from_file(path: Path) -> tuple[Settings, dict[str, Any]]:
    """Return the settings in a TOML file, and the record of the run that wrote it, if any."""
    try:
        # run.toml keeps names of files that are not UTF-8 byte by byte
        content = tomllib.loads(path.read_text(encoding="utf-8", errors="surrogateescape"))
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path} is not a TOML file: {error}.") from error
    return from_tables(content, path, path.parent)


def from_tables(content: dict[str, Any], path: Path, folder: Path) -> tuple[Settings, dict[str, Any]]:
    """Return the settings and the record in the tables of a file; paths are relative to `folder`."""
    table = content.get("separate")
    if not isinstance(table, dict):
        raise ReadError(f"{path} has no table [separate]: give the run.toml of a result.")
    kinds = get_type_hints(Settings)
    for key, value in table.items():
        if key not in kinds:
            raise ReadError(f"{path}: [separate] has no option {key!r}. Use {', '.join(kinds)}.")
        if not _fits(value, kinds[key]):
            raise ReadError(f"{path}: `{key} = {value!r}` in [separate] has the wrong type.")
    if "data" in table:
        table["data"] = tuple(str(folder / Path(one)) for one in table["data"])
    for name, value in Settings(**table).files.items():
        table[name] = str(folder / Path(value))
    record = content.get("record")
    return Settings(**table), record if isinstance(record, dict) else {}


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value in a TOML file has a type; true and false are not numbers."""
    if get_origin(kind) in (UnionType, Union):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:  # of any length: an array in TOML
        return isinstance(value, list) and all(_fits(one, get_args(kind)[0]) for one in value)
    if isinstance(value, bool):
        return kind is bool
    if kind is float and isinstance(value, int):
        return value.bit_length() < 1024  # larger ones do not fit into a float
    return isinstance(value, kind)


def to_toml(settings: Settings, record: dict[str, Any]) -> str:
    """Return the text of run.toml."""
    table = settings.table() | {"data": [os.path.abspath(one) for one in settings.data]}
    table |= {name: os.path.abspath(path) for name, path in settings.files.items()}
    header = f"{result_folder.SIGN} separate --config run.toml -o ANOTHER_FOLDER\n\n"
    return header + tomli_w.dumps({"separate": table, "record": record})


def provenance(settings: Settings) -> dict[str, Any]:
    """Return versions, machine and hashes of the input files."""
    versions = {name: metadata.version(name) for name in ("ngmca", "numpy", "scipy", "numba")}
    return {
        **versions,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "command": " ".join(["ngmca", *sys.argv[1:]]),
        "folder": os.getcwd(),
        "sha256": io.fingerprint([Path(one) for one in settings.data]),
        **{f"sha256_{name}": _hashed(name, Path(one)) for name, one in settings.files.items()},
    }


def _hashed(name: str, path: Path) -> str:
    """Return the hash of a file that an option names."""
    if not path.exists():
        other = {
            "noise": ", and it is neither a number nor poisson",
            "closure": ", and it is not a number",
        }
        raise ArgumentError("{}: this file does not exist{}.", option(name, path), other.get(name, ""))
    return io.fingerprint([path])


def changed_input(
    before: dict[str, Any], now: dict[str, Any], *, besides: tuple[str, ...] = ()
) -> Message | None:
    """Return the first input with another hash than in an earlier record, None if all are the same."""
    for key, value in now.items():
        name = key.removeprefix("sha256").removeprefix("_")
        if key.startswith("sha256") and name not in besides and before.get(key, value) != value:
            return message("the file of {}", option(name)) if name else message("the data")
    return None


def parse_range(text: str) -> tuple[float, float]:
    """Return both ends of a range such as 0.5:9.5."""
    low, mark, high = text.partition(":")
    try:
        if not mark:
            raise ValueError
        return float(low), float(high)
    except ValueError:
        raise ReadError(
            f"--range {text} is not a range: give two numbers with a colon between them, as 0.5:9.5."
        ) from None
