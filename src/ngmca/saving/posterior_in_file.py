"""A posterior as variables of a NetCDF file, and back."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

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
    """Return the posterior in a file, or None; NaN for a parameter that an older file does not have."""
    if "posterior_S_mean" not in values:
        return None
    unknown = np.full(len(values["posterior_S_mean"]), np.nan)
    blank: dict[str, Any] = {"mean": unknown, "sd": unknown}
    model = str(values.get("posterior_model", "sparse"))
    without = ONLY_SPARSE_MODEL if model == "bands" else ()
    parts: dict[str, Any] = dict.fromkeys(DIMENSIONS)
    for name in set(DIMENSIONS) - set(without):
        kept: list[Any] = [values.get(f"posterior_{name}_{part}", blank.get(part)) for part in MARGINALS]
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
        refuted=bool(values.get("posterior_refuted", False)),
    )


def _present(values: Mapping[str, Any], prefix: str, names: Iterable[str]) -> dict[str, Any]:
    return {name: values[prefix + name] for name in names if prefix + name in values}
