"""The posterior and the answers of a run as variables of a NetCDF file, and back.

Of the answers (how many, which, how much) arrays become variables, and everything else one text.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import count, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.records import from_plain, to_plain
from ngmca.answers.run import NO_ANSWERS, Answers
from ngmca.result import Marginals, Posterior

DIMENSIONS = {
    "S": ("source", "sample"),
    "A": ("measurement", "source"),
    "noise": ("measurement",),
    "pi": ("source",),
    "stay": ("source",),
    "beta": ("source",),
}
TRACED = {"noise": (), "pi": ("source",), "stay": ("source",), "beta": ("source",)}
NUMBERS = ("n_samples", "burn", "error", "settled", "refuted")
ONLY_SPARSE_MODEL = ("pi", "stay", "beta")  # parameters that the model of bands does not have
FACTORS = ("S", "A")
MARGINALS = ("mean", "sd", "active")
COMPRESSED = tuple(f"posterior_{name}_{part}" for name in FACTORS for part in MARGINALS)


def to_variables(posterior: Posterior) -> dict[str, tuple[Sequence[str], Any]]:
    """Return variables with their dimensions and values; their names begin with posterior_."""
    found: dict[str, tuple[Sequence[str], Any]] = {}
    for name, axes in DIMENSIONS.items():
        marginals = getattr(posterior, name)
        if marginals is None:
            continue
        for part in MARGINALS:
            values = getattr(marginals, part)
            if values is not None:
                found[f"posterior_{name}_{part}"] = (axes, values)
        across = ("source",) if name in FACTORS else TRACED[name]
        found[f"posterior_rhat_{name}"] = (across, posterior.rhat[name])
        found[f"posterior_ess_{name}"] = (across, posterior.ess[name])
    for name, trace in posterior.traces.items():
        found[f"posterior_trace_{name}"] = (("chain", "draw", *TRACED[name]), trace)
    for name in NUMBERS:
        found[f"posterior_{name}"] = ((), getattr(posterior, name))
    found["posterior_model"] = ((), posterior.model)
    found["posterior_warnings"] = (("warning",), np.array(posterior.warnings, dtype=object).astype(str))
    return found


def from_variables(values: Mapping[str, Any]) -> Posterior | None:
    """Return the posterior in a file, or None."""
    if "posterior_S_mean" not in values:
        return None
    model = str(values["posterior_model"])
    without = ONLY_SPARSE_MODEL if model != "sparse" else ()
    parts: dict[str, Any] = dict.fromkeys(DIMENSIONS)
    for name in set(DIMENSIONS) - set(without):
        kept: list[Any] = [values.get(f"posterior_{name}_{part}") for part in MARGINALS]
        parts[name] = Marginals(*kept)
    return Posterior(
        **parts,
        traces=_present(values, "posterior_trace_", TRACED),
        rhat=_present(values, "posterior_rhat_", DIMENSIONS),
        ess=_present(values, "posterior_ess_", DIMENSIONS),
        n_samples=int(values["posterior_n_samples"]),
        burn=int(values["posterior_burn"]),
        error=float(values["posterior_error"]),
        settled=bool(values["posterior_settled"]),
        warnings=tuple(str(warning) for warning in values["posterior_warnings"]),
        model=model,
        refuted=bool(values["posterior_refuted"]),
    )


def _present(values: Mapping[str, Any], prefix: str, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[prefix + name] for name in names if prefix + name in values}


TEXT = "answers"  # the variable that holds the text
ARRAY = "answers_array_{}"


def answers_to_variables(answers: Answers) -> dict[str, tuple[Sequence[str], Any]]:
    """Return variables, each with its dimensions and values; none if there are no answers."""
    arrays: list[NDArray] = []
    plain = to_plain(answers, arrays)
    if not any(getattr(answers, part.name) for part in fields(answers)):
        return {}
    found: dict[str, tuple[Sequence[str], Any]] = {TEXT: ((), json.dumps(plain))}
    for i, array in enumerate(arrays):
        name = ARRAY.format(i)
        found[name] = ([f"{name}_{axis}" for axis in range(array.ndim)], array)
    return found


def answers_from_variables(values: Mapping[str, Any]) -> Answers:
    """Return the answers that `answers_to_variables` made these variables of."""
    if TEXT not in values:
        return NO_ANSWERS
    names = takewhile(values.__contains__, map(ARRAY.format, count()))
    return from_plain(Answers, json.loads(str(values[TEXT])), [values[name] for name in names])
