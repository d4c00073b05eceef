"""What cannot be combined: one table, with the reason for each gap.

`separate`, `NGMCA`, the command line, the documentation and the tests all read this table. A feature is
a short name of something that a task asks for, or a fact about its data. `FEATURES` says how each is
written in messages.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ngmca._support.messages import ArgumentError, Message, Option, message, option

KNOWN = ("KnownSources", "KnownMixing", "ZeroSources", "ZeroMixing")
SHAPES = ("Unimodal", "Monotonic")
CONSTRAINTS = ("Baseline", "Closure", *KNOWN, *SHAPES, "Kinetics", "Trilinear")
ARGUMENTS = (
    *("sample_shape", "noise", "mask", "checkpoint", "out", "start", "n_init", "threads", "columns"),
    *("standards", "responses", "library"),
)
UNEQUAL = ("missing entries", "noise of entries", "counts", "robust")
BLOCKS = ("disk", "dask")

FEATURES: Mapping[str, Option | str] = {
    **{name: option("method", name) for name in ("soft", "hard", "naive", "anls", "gmca")},
    "rival": "a method of ngmca.rivals",
    "fista": option("solver", "fista"),
    "tau=0": option("tau", 0),
    "penalised A": option("penalised", "A"),
    "penalised both": option("penalised", "both"),
    "wavelet": option("domain", "wavelet"),
    **{name: option(name) for name in (*CONSTRAINTS, *ARGUMENTS)},
    "Closure with KnownSources": "Closure with KnownSources of a fixed scale",
    "known channels": "KnownSources at some of the channels",
    "known shape": "KnownSources with scale='free'",
    "uncertain mixing": "KnownMixing with standard deviations",
    "shapes of some sources": "a shape of some of the sources",
    "align": option("ngmca.align"),
    "robust": option("robust", True),
    "counts": option("noise", "poisson"),
    "noise of entries": "a noise level for each entry",
    "noise of channels": "a noise level for each channel",
    "missing entries": "missing entries",
    "several": "several data sets",
    "techniques": option("shared", "mixing"),
    "one noise": "one noise level for all techniques",
    "curves of a baseline": "a baseline with given curves",
    "memory": "data in memory",
    "disk": "data that are read in blocks",
    "dask": "a Dask array",
    "gpu": option("device", "cuda"),
    "posterior": option("posterior", True),
    "posterior in wavelets": "error bars in the wavelet domain",
    "ambiguity": option("ambiguity", True),
    "auto rank": option("r", "auto"),
    "known A": option("A"),
    "totals": option("closure"),
    "partial_fit": "partial_fit",
}


@dataclass(frozen=True)
class Rule:
    """Features that cannot be combined.

    Attributes
    ----------
    ones, others : tuple of str
        Every feature in `ones` excludes every feature in `others`.
    reason : str
        Why, as a clause.
    instead : Message
        What to do, as a sentence.
    """

    ones: tuple[str, ...]
    others: tuple[str, ...]
    reason: str
    instead: Message


_DIRECT, _CPU = option("domain", "direct"), option("device", "cpu")
_USE_DIRECT, _USE_CPU = message("Use {}.", _DIRECT), message("Use {}.", _CPU)
_USE_SOFT = message("Use {}.", option("method", "soft"))
_USE_SOFT_OR_ANLS = message("Use {} or {}.", option("method", "soft"), option("method", "anls"))
_USE_PIVOT = message("Use {}.", option("solver", "pivot"))
_LEAVE_OUT_ONE = message("Leave out one of them.")
_USE_A_PART = message("Use a part of the data that fits into the memory.")


def _leave_out(name: str) -> Message:
    return message("Leave out {}.", option(name))


RULES: tuple[Rule, ...] = (
    Rule(
        ("wavelet", "sample_shape"),
        ("hard", "naive", "anls", "rival"),
        "only 'soft' works in the wavelet domain",
        _USE_SOFT,
    ),
    Rule(
        ("wavelet",),
        ("tau=0",),
        "the wavelet domain needs a threshold",
        message("Use {}, or a larger {}.", _DIRECT, option("tau")),
    ),
    Rule(("wavelet",), ("penalised A",), "columns of A have no order along the channels", _USE_DIRECT),
    Rule(
        ("wavelet",),
        ("ZeroSources", "Closure with KnownSources", "known channels"),
        "this constraint holds for single channels",
        _USE_DIRECT,
    ),
    Rule(
        ("Closure",),
        ("penalised A", "penalised both"),
        "a fixed sum of A cannot be made smaller",
        message("Use {}.", option("penalised", "S")),
    ),
    Rule(
        ("Kinetics",),
        ("known shape",),
        "amounts of a rate law need the scale of a known spectrum",
        message("Use {}.", option("scale", "fixed")),
    ),
    Rule(
        ("Trilinear",),
        ("Closure", "KnownMixing", "ZeroMixing", *SHAPES, "Kinetics", "penalised both"),
        "the common profiles have a solver of their own",
        _LEAVE_OUT_ONE,
    ),
    Rule(
        ("penalised A",),
        ("Kinetics", "Trilinear", *SHAPES, "Baseline", "uncertain mixing"),
        "this constraint does not hold for the transposed data",
        message("Use {}.", option("penalised", "both")),
    ),
    Rule(("naive",), CONSTRAINTS, "its steps ignore constraints", _USE_SOFT),
    Rule(("fista",), (*CONSTRAINTS, "penalised both"), "its steps ignore constraints", _USE_PIVOT),
    Rule(
        ("hard", "naive"), UNEQUAL, "its steps need all entries, with equal weights", _USE_SOFT_OR_ANLS
    ),
    Rule(("fista",), UNEQUAL, "its steps need all entries, with equal weights", _USE_PIVOT),
    Rule(
        ("rival",),
        (*CONSTRAINTS, *UNEQUAL, "noise of channels"),
        "rivals implement their own model only",
        _USE_SOFT_OR_ANLS,
    ),
    Rule(
        ("rival",), ("checkpoint",), "rivals have no states to continue from", _leave_out("checkpoint")
    ),
    Rule(("rival",), ("threads",), "rivals run in one thread", _leave_out("threads")),
    Rule(
        ("rival", "robust", "counts", "noise of entries", "posterior", "auto rank"),
        BLOCKS,
        "all data must be in memory",
        _USE_A_PART,
    ),
    Rule(("Kinetics", "Trilinear"), ("disk",), "all data must be in memory", _USE_A_PART),
    Rule(
        ("noise of channels",),
        (*BLOCKS, "gpu"),
        "this method needs all data in memory for it",
        message("Pass an array and use {}.", _CPU),
    ),
    Rule(
        ("naive", "wavelet", *CONSTRAINTS, "penalised both"),
        ("dask",),
        "it needs all sources in memory, but they are spread over the workers of Dask",
        _USE_A_PART,
    ),
    Rule(("mask",), BLOCKS, "the mask needs all data in memory", _USE_A_PART),
    Rule(
        ("missing entries",),
        BLOCKS,
        "data that are read in blocks must not have missing entries",
        message("Replace these, or leave out their columns."),
    ),
    Rule(
        ("threads",), ("dask", "gpu"), "the number of threads is not used there", _leave_out("threads")
    ),
    Rule(
        ("naive", "rival", *CONSTRAINTS, "penalised A", "penalised both", *UNEQUAL, "mask"),
        ("gpu",),
        "the GPU does not support it",
        _USE_CPU,
    ),
    Rule(("out", "dask"), ("gpu",), "data on a GPU are not read in blocks", _USE_CPU),
    Rule(
        ("disk",),
        ("gpu",),
        "data on a GPU are not read in blocks",
        message("Pass a mapped .npy file, np.load(..., mmap_mode='r'), or use {}.", _CPU),
    ),
    Rule(
        ("posterior",),
        ("gmca",),
        "gmca can give negative spectra, but error bars need spectra that are not negative",
        _leave_out("posterior"),
    ),
    Rule(
        ("ambiguity",),
        ("gmca",),
        "gmca can give negative spectra, and without signs every mixture of them fits as well",
        _leave_out("ambiguity"),
    ),
    Rule(("ambiguity",), BLOCKS, "all data must be in memory", _USE_A_PART),
    Rule(
        ("ambiguity",),
        ("Trilinear",),
        "common profiles leave no mixture of the sources that fits as well",
        _leave_out("ambiguity"),
    ),
    Rule(
        ("posterior",),
        ("Kinetics", "Trilinear", "uncertain mixing", "penalised A", "penalised both"),
        "the sampler does not support this constraint",
        _leave_out("posterior"),
    ),
    Rule(("known A",), CONSTRAINTS, "a known mixing leaves only the sources to sample", _LEAVE_OUT_ONE),
    Rule(
        ("columns",),
        ("mask", "missing entries", "robust", "posterior in wavelets", *CONSTRAINTS),
        "it needs all channels",
        _leave_out("columns"),
    ),
    Rule(("standards",), ("responses", "totals"), "each of them gives a scale", _LEAVE_OUT_ONE),
    Rule(("responses",), ("totals",), "each of them gives a scale", _LEAVE_OUT_ONE),
    Rule(
        ("out",),
        ("several",),
        "the data are read in blocks then",
        message("Pass one array with all rows."),
    ),
    Rule(
        ("techniques",),
        ("one noise", "counts"),
        "each technique has its own noise",
        message(
            "Leave out {}: it is estimated. In Python, it may be a list, one noise for each.",
            option("noise"),
        ),
    ),
    Rule(
        ("techniques",),
        ("KnownSources", "curves of a baseline"),
        "curves would have to be given on the axis of every technique",
        _LEAVE_OUT_ONE,
    ),
    Rule(
        ("library", "responses"),
        ("techniques",),
        "these spectra belong to one technique",
        message(
            "In Python, call identify or quantify with one of Separation.techniques and its own data."
        ),
    ),
    Rule(("techniques",), ("Trilinear",), "several techniques are one data set", _LEAVE_OUT_ONE),
    Rule(
        ("techniques",), ("sample_shape",), "channels of several techniques are no image", _LEAVE_OUT_ONE
    ),
    Rule(("techniques",), ("out", *BLOCKS), "all data must be in memory", _USE_A_PART),
    Rule(
        ("start",),
        ("n_init",),
        "a given start is one start",
        message("Leave out {} or {}.", option("start"), option("n_init")),
    ),
    Rule(
        ("auto rank",),
        (*KNOWN, "Kinetics", "Trilinear", "shapes of some sources"),
        "sources are counted without this constraint",
        message("Give a number of sources."),
    ),
    Rule(
        ("align",),
        ("auto rank",),
        "measurements are aligned to a fit of a known number of sources",
        message("Give a number of sources."),
    ),
    Rule(("align",), BLOCKS, "all data must be in memory", _USE_A_PART),
    Rule(
        ("align",),
        ("missing entries",),
        "a spectrum is moved as a whole",
        message("Leave out their columns or measurements."),
    ),
    Rule(
        ("align",),
        ("techniques",),
        "each technique has shifts of its own",
        message("In Python, align the data of each technique."),
    ),
    Rule(
        ("partial_fit",),
        (
            *("hard", "naive", "rival", "wavelet", "gpu", "posterior", "noise", *CONSTRAINTS, *UNEQUAL),
            *("penalised A", "penalised both"),
        ),
        "it sees each batch of rows only once, and then keeps only sums over them",
        message("Use fit for all data at once."),
    ),
)


def reason_against(one: str, other: str) -> Rule | None:
    """Return the rule that excludes two features together, or None where they can be combined."""
    for rule in RULES:
        if (one in rule.ones and other in rule.others) or (other in rule.ones and one in rule.others):
            return rule
    return None


def check(features: Mapping[str, Option | str]) -> None:
    """Raise an error about the first two features that cannot be combined.

    Parameters
    ----------
    features : mapping
        Names of features, and how each is written in the message.
    """
    for rule in RULES:
        for one in rule.ones:
            for other in rule.others:
                if one in features and other in features and one != other:
                    raise ArgumentError(
                        "{} cannot be combined with {}: {}. {}",
                        *(features[one], features[other], rule.reason, rule.instead),
                    )


def written(names: Iterable[str]) -> dict[str, Option | str]:
    """Return features with the way in which each is written."""
    return {name: FEATURES[name] for name in names}


def markdown() -> str:
    """Return the table as the documentation shows it."""
    lines = ["| this | cannot be combined with | because | instead |", "|---|---|---|---|"]
    for rule in RULES:
        ones, others = (
            ", ".join(str(FEATURES[name]).replace("|", "\\|") for name in names)
            for names in (rule.ones, rule.others)
        )
        lines.append(f"| {ones} | {others} | {rule.reason} | {rule.instead} |")
    return "\n".join(lines) + "\n"
