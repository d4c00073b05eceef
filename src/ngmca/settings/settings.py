"""Settings of a run: options of the command, fields of the page, and lines of run.toml."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from ngmca import io, rules
from ngmca._support.arguments import check_choice
from ngmca.answers.alignment import aligned
from ngmca.constraints import closure as closing
from ngmca.domains import backgrounds
from ngmca.engines import DEVICES, join_techniques
from ngmca.io import Dataset, ReadError
from ngmca.io.axis_names import DIRECTIONS
from ngmca.io.row_coordinates import with_rows
from ngmca.separation import SHARED
from ngmca.settings.selection import parse_range, selected
from ngmca.task.methods import METHOD_NAMES, OWN_METHODS, Soft
from ngmca.task.task import AUTOMATIC_STARTS, DOMAINS

AUTO = "auto"
PROFILES = ("unimodal", "increasing", "decreasing")
METHOD_OPTIONS = {
    "tau": "tau",
    "iterations": "n_iter",
    "refinement": "refinement",
    "penalised": "penalised",
}
QUESTION_FILES = ("library", "standards", "responses")
READING = ("transpose", "range", "leave_out", "leave_rows", "dataset", "nucleus", "axis", "header",
           "skip", "columns", "axes",
           "axis_name", "axis_unit", "axis_direction", "missing", "rows")  # fmt: skip
SELECTING = ("range", "leave_out", "leave_rows", "rows")  # what is done with the data after reading
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
    choices: tuple[str, ...] = (),
    **more: Any,
) -> Any:
    """Return the field of a setting, with what the command line and the page need to ask for it.

    Parameters
    ----------
    words : str
        The help, with the default in brackets.
    *flags : str
        How the option is written, unless it is like the name of the setting.
    default : object
        The default of the setting.
    kind : type, optional
        The type of the option, if it is not that of the setting; with `read` it is text.
    read : callable, optional
        Returns the value of the setting from the text of the option.
    choices : tuple of str
        Words that the setting may be.
    **more
        Further arguments of `typer.Option`.
    """
    facts = {"words": words, "flags": flags, "kind": str if read else kind, "read": read}
    return field(default=default, metadata=facts | {"choices": choices, "more": more})


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
        choices=SHARED,
    )
    method: str = setting(
        f"Algorithm: {', '.join(METHOD_NAMES)} (soft).",
        default="soft",
        choices=METHOD_NAMES,
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
    known_scale: str | None = setting(
        "Whether the scale of --known-sources is fixed or free (fixed).", choices=("fixed", "free")
    )
    closure: float | str | None = setting(
        "Total of the amounts in each measurement.", read=number_or_word, metavar="TOTAL|FILE"
    )
    closure_kind: str | None = setting(
        "Whether sums are equal, at most or at least --closure (equal).", choices=closing.KINDS
    )
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
        "Amounts are unimodal, increasing or decreasing along the measurements.", choices=PROFILES
    )
    trilinear: bool = setting(
        "Amounts have the same profile in each of several files, up to a factor.",
        "--trilinear/--no-trilinear",
        default=False,
    )
    baseline: str | None = setting(
        "Smooth background in each measurement: none, "
        f"{', '.join(backgrounds.KINDS)}, or a file of curves. auto looks whether there is one "
        "(auto; none with other knowledge).",
        metavar="auto|none|KIND|FILE",
        choices=("auto", "none", *backgrounds.KINDS),
    )
    align: bool = setting(
        "Move measurements back whose lines shifted along the axis.", "--align/--no-align", default=False
    )
    penalised: str | None = setting(
        "Which factor is sparse: sources S, amounts A, or both (S).", choices=("S", "A", "both")
    )
    domain: str = setting(
        "Where sources are sparse: direct (in channels) or wavelet (smooth bands). The default, auto, "
        "lets the data decide.",
        default="auto",
        choices=DOMAINS,
    )
    device: str = setting(
        "Where to compute: cpu, or cuda for a GPU (cpu).", default="cpu", choices=DEVICES
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
    leave_out: str | None = setting(
        "Leave out these parts of the axis, as 1650:1700,2300:2400.", metavar="LOW:HIGH,..."
    )
    leave_rows: str | None = setting(
        "Leave out these measurements, by number from 1 or by name, as 3,7-9.", metavar="ROWS"
    )
    dataset: str | None = setting("Name of the data, in a file with several.")
    nucleus: str | None = setting("Read NMR experiments of this nucleus only, as 1H.")
    axis: str | None = setting(
        "Where the axis of a table is: first-column, first-row or none (detected).",
        choices=("first-column", "first-row", "none"),
    )
    header: int | None = setting("Line of a text file that names the columns; 0 for none (detected).")
    skip: int | None = setting("Lines to skip at the top of a text file (0).")
    columns: str | None = setting("Columns of a text file to read: 2-5,7 or names (all).")
    axes: str | None = setting("What each dimension of an array is, as time,pixel,channel (detected).")
    axis_name: str | None = setting("Name of the axis, as wavenumber (from the file).")
    axis_unit: str | None = setting("Unit of the axis, as cm-1 (from the file).")
    axis_direction: str | None = setting(
        "How figures draw the axis: rising or falling (by its kind).", choices=DIRECTIONS
    )
    missing: str | None = setting(
        "Number that stands for a missing entry, as -1; none if no number does (-999 and similar)."
    )
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
        """The data without what is left out, and aligned; those of a large file stay there."""
        if not self.align:
            return self._read()
        if self.sources == AUTO:
            rules.check(rules.written(["align", "auto rank"]))
        return aligned(self._read(), self.number)

    def _read(self) -> Dataset:
        options = {name: getattr(self, name) for name in READING if name not in SELECTING}
        if check_choice(self.shared, "shared", SHARED) == "mixing":
            return self._read_techniques(options)
        one = self.data[0] if len(self.data) == 1 else self.data
        data = io.read(one, large="leave", **options)
        data = data if self.rows is None else with_rows(data, self.rows)
        if data.in_memory:
            return selected(data, self.range, self.leave_out, self.leave_rows)
        if self.range or self.leave_out or self.leave_rows:
            raise ReadError(
                f"{self.data[0]} is too large for the memory, and --range, --leave-out and --leave-rows "
                "would copy it: cut it first."
            )
        if self.device == "cuda":
            raise ReadError(
                f"{self.data[0]} is too large to be read whole, as --device cuda does: take --device "
                "cpu, or in Python ngmca.separate(numpy.load(..., mmap_mode='r'), ..., device='cuda')."
            )
        return data

    def _read_techniques(self, options: dict[str, Any]) -> Dataset:
        """Return the files of several techniques, joined along the channels."""
        if self.leave_out:
            raise ReadError("--leave-out is for one technique: leave it out, or use --range.")
        parts = [io.read(one, **options) for one in self.data]
        ends = [parse_range(one) for one in self.range.split(",")] if self.range else []
        if len(ends) not in (0, 1, len(parts)):
            raise ReadError(f"--range {self.range} has {len(ends)} ranges for {len(parts)} techniques.")
        if ends:
            ends = ends * len(parts) if len(ends) == 1 else ends
            parts = [part.crop(*both) for part, both in zip(parts, ends, strict=True)]
        data = join_techniques(parts)
        data = data if self.rows is None else with_rows(data, self.rows)
        return selected(data, rows=self.leave_rows)

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

    @property
    def given(self) -> dict[str, Any]:
        """The settings that are not their defaults."""
        own = {part.name: getattr(self, part.name) for part in fields(self)}
        return {part.name: own[part.name] for part in fields(self) if own[part.name] != part.default}

    def table(self) -> dict[str, Any]:
        """Return all settings by name, options of the method with their defaults where not given."""
        method = OWN_METHODS.get(self.method)
        defaults = {} if method is None else vars(method())
        own = {setting: defaults[name] for setting, name in METHOD_OPTIONS.items() if name in defaults}
        return own | {key: value for key, value in asdict(self).items() if value is not None}
