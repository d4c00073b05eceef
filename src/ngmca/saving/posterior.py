"""A posterior as variables of a file, and back."""

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
FIGURES = ("n_samples", "burn", "error", "settled")
LARGE = ("S", "A")
PARTS = ("mean", "sd", "active")
PACKED = tuple(f"posterior_{name}_{part}" for name in LARGE for part in PARTS)


def to_variables(posterior: Posterior) -> dict[str, Any]:
    """Names that begin with posterior_, each with its dimensions and values."""
    found: dict[str, Any] = {}
    for name, axes in DIMENSIONS.items():
        for part in PARTS:
            values = getattr(getattr(posterior, name), part)
            if values is not None:
                found[f"posterior_{name}_{part}"] = (axes, values)
        across = ("source",) if name in LARGE else TRACED[name]
        found[f"posterior_rhat_{name}"] = (across, posterior.rhat[name])
        found[f"posterior_ess_{name}"] = (across, posterior.ess[name])
    for name, axes in TRACED.items():
        found[f"posterior_trace_{name}"] = (("chain", "draw", *axes), posterior.traces[name])
    for name in FIGURES:
        found[f"posterior_{name}"] = ((), getattr(posterior, name))
    found["posterior_warnings"] = ("warning", np.array(posterior.warnings, dtype=object).astype(str))
    return found


def from_variables(values: dict[str, Any]) -> Posterior | None:
    """What `to_variables` made, if anything; NaN for a parameter that an older version did not have."""
    if "posterior_S_mean" not in values:
        return None
    unknown = np.full(len(values["posterior_S_mean"]), np.nan)
    blank = {"mean": unknown, "sd": unknown}
    parts = {
        name: Marginals(*(values.get(f"posterior_{name}_{part}", blank.get(part)) for part in PARTS))  # type: ignore[arg-type]
        for name in DIMENSIONS
    }
    return Posterior(
        **parts,
        traces=_present(values, "posterior_trace_", TRACED),
        rhat=_present(values, "posterior_rhat_", DIMENSIONS),
        ess=_present(values, "posterior_ess_", DIMENSIONS),
        n_samples=int(values["posterior_n_samples"]),
        burn=int(values["posterior_burn"]),
        error=float(values["posterior_error"]),
        settled=bool(values["posterior_settled"]),
        warnings=tuple(str(words) for words in values["posterior_warnings"]),
    )


def _present(values: dict[str, Any], prefix: str, names: dict[str, Any]) -> dict[str, Any]:
    return {name: values[prefix + name] for name in names if prefix + name in values}
