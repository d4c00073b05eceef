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
CONSTRAINTS = ("Baseline", "Closure", *KNOWN, *SHAPES)
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
    "sample_shape": option("sample_shape"),
    **{name: option(name) for name in CONSTRAINTS},
    "Closure with KnownSources": "Closure with KnownSources of a fixed scale",
    "Closure with KnownMixing": "Closure with KnownMixing",
    "shapes of some sources": "a shape of some of the sources",
    "robust": option("robust", True),
    "counts": option("noise", "poisson"),
    "noise": option("noise"),
    "noise of entries": "a noise level for each entry",
    "noise of channels": "a noise level for each channel",
    "missing entries": "missing entries",
    "mask": option("mask"),
    "several": "several data sets",
    "memory": "data in memory",
    "disk": "data that are read in blocks",
    "dask": "a Dask array",
    "gpu": option("device", "cuda"),
    "posterior": option("posterior", True),
    "posterior in wavelets": "error bars in the wavelet domain",
    "checkpoint": option("checkpoint"),
    "out": option("out"),
    "start": option("start"),
    "n_init": option("n_init"),
    "threads": option("threads"),
    "auto rank": option("r", "auto"),
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


def _rule(ones: Iterable[str], others: Iterable[str], reason: str, instead: str, *parts: object) -> Rule:
    return Rule(tuple(ones), tuple(others), reason, message(instead, *parts))


_SOFT = (option("method", "soft"), option("method", "anls"))
_CPU = option("device", "cpu")
RULES: tuple[Rule, ...] = (
    _rule(
        *(["wavelet", "sample_shape"], ["hard", "naive", "anls", "rival"]),
        *("only 'soft' works in the wavelet domain", "Use {}.", option("method", "soft")),
    ),
    _rule(
        *(["wavelet"], ["tau=0"], "the wavelet domain needs a threshold"),
        *("Use {}, or a larger {}.", option("domain", "direct"), option("tau")),
    ),
    _rule(
        *(["wavelet"], ["penalised A"], "columns of A have no order along the channels"),
        *("Use {}.", option("domain", "direct")),
    ),
    _rule(
        *(["wavelet"], ["ZeroSources", "Closure with KnownSources"]),
        *("this constraint holds for single channels", "Use {}.", option("domain", "direct")),
    ),
    _rule(
        *(["Closure"], SHAPES, "there is no common solver for sums over sources and shapes of profiles"),
        "Leave out one of them.",
    ),
    _rule(
        *(["Closure"], ["penalised A", "penalised both"]),
        *("a fixed sum of A cannot be made smaller", "Use {}.", option("penalised", "S")),
    ),
    _rule(
        *(["Closure with KnownMixing"], ["ZeroMixing"], "there is no common solver for all three"),
        "Leave out one of them.",
    ),
    _rule(
        *(SHAPES, ["ZeroMixing"], "a profile with zeros inside has no single shape"),
        "Leave out one of them.",
    ),
    _rule(
        *(["penalised A"], [*SHAPES, "Baseline"], "the data are transposed for it"),
        *("Use {}.", option("penalised", "both")),
    ),
    _rule(
        *(["naive", "fista"], [*CONSTRAINTS, "penalised both"], "its steps ignore constraints"),
        *("Use {} and {}.", option("method", "soft"), option("solver", "pivot")),
    ),
    _rule(
        *(["hard", "naive", "fista"], UNEQUAL, "its steps need all entries with equal weights"),
        *("Use {} or {} with {}.", *_SOFT, option("solver", "pivot")),
    ),
    _rule(
        *(["rival"], [*CONSTRAINTS, *UNEQUAL, "noise of channels"]),
        *("rivals implement their own model only", "Use {} or {}.", *_SOFT),
    ),
    _rule(
        *(["rival"], ["checkpoint"], "rivals run as a whole"),
        *("Leave out {}.", option("checkpoint")),
    ),
    _rule(
        *(["rival"], ["threads"], "rivals run in one thread"),
        *("Leave out {}.", option("threads")),
    ),
    _rule(
        *(["rival", "robust", "counts", "noise of entries", "posterior", "auto rank"], BLOCKS),
        "all data must be in memory",
        "Pass a part of the data as an array.",
    ),
    _rule(
        *(["noise of channels"], ["disk", "dask", "gpu"], "all data must be in memory"),
        *("Pass an array and use {}.", _CPU),
    ),
    _rule(
        *(["naive", "wavelet", *CONSTRAINTS, "penalised both"], ["dask"]),
        *("the sources stay on the workers", "Pass a part of the data as an array."),
    ),
    _rule(["mask"], BLOCKS, "the mask needs all data in memory", "Pass a part of the data as an array."),
    _rule(
        *(["threads"], ["dask", "gpu"], "the number of threads is not used there"),
        *("Leave out {}.", option("threads")),
    ),
    _rule(
        ["naive", "rival", *CONSTRAINTS, "penalised A", "penalised both", *UNEQUAL, "mask", "posterior",
         "auto rank", "out", "disk", "dask"],
        *(["gpu"], "the GPU does not support it", "Use {}.", _CPU),
    ),
    _rule(
        *(["posterior"], ["gmca"], "its sources may be negative, and those of the sampler may not"),
        *("Leave out {}.", option("posterior")),
    ),
    _rule(
        *(["posterior"], ["Closure", *SHAPES, "penalised A", "penalised both"]),
        *("the sampler does not support this constraint", "Leave out {}.", option("posterior")),
    ),
    _rule(
        *(["posterior in wavelets"], [*KNOWN, "Baseline"]),
        "all of A and S is sampled there",
        *("Leave out {}, or use {}.", option("posterior"), option("domain", "direct")),
    ),
    _rule(
        *(["out"], ["several"], "the data are read in blocks then"),
        "Pass one array with all rows.",
    ),
    _rule(
        *(["start"], ["n_init"], "a given start is one start"),
        *("Leave out {} or {}.", option("start"), option("n_init")),
    ),
    _rule(
        *(["auto rank"], ["Baseline", *KNOWN, "shapes of some sources"]),
        *("sources are counted without this constraint", "Give a number of sources."),
    ),
    _rule(
        *(["partial_fit"], ["hard", "naive", "rival", "wavelet", *CONSTRAINTS, "penalised A"]),
        *("it keeps sums of the stream only", "Use {} for all data at once.", "fit"),
    ),
    _rule(
        *(["partial_fit"], ["penalised both", *UNEQUAL, "noise", "posterior", "gpu"]),
        *("it keeps sums of the stream only", "Use {} for all data at once.", "fit"),
    ),
)  # fmt: skip


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
