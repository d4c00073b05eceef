"""A posterior as variables of a file, and back."""

from typing import Any

import numpy as np

from ngmca.uncertainty import Marginals, Posterior

DIMENSIONS = {
    "S": ("source", "sample"),
    "A": ("measurement", "source"),
    "noise": ("measurement",),
    "pi": ("source",),
    "stay": ("source",),
    "beta": ("source",),
}
TRACES = {
    "noise": ("chain", "draw"),
    "pi": ("chain", "draw", "source"),
    "stay": ("chain", "draw", "source"),
    "beta": ("chain", "draw", "source"),
}
FIGURES = ("n_samples", "burn", "error", "settled")
PACKED = (
    "posterior_S_mean",
    "posterior_S_sd",
    "posterior_S_active",
    "posterior_A_mean",
    "posterior_A_sd",
)


def to_variables(posterior: Posterior) -> dict[str, Any]:
    """Names that begin with posterior_, each with its dimensions and values."""
    found: dict[str, Any] = {}
    for name, axes in DIMENSIONS.items():
        part: Marginals = getattr(posterior, name)
        found[f"posterior_{name}_mean"] = (axes, part.mean)
        found[f"posterior_{name}_sd"] = (axes, part.sd)
        if part.active is not None:
            found[f"posterior_{name}_active"] = (axes, part.active)
    for name, axes in TRACES.items():
        found[f"posterior_trace_{name}"] = (axes, posterior.traces[name])
    for name, values in posterior.rhat.items():
        axes = ("source",) if np.ndim(values) else ()
        found[f"posterior_rhat_{name}"] = (axes, values)
        found[f"posterior_ess_{name}"] = (axes, posterior.ess[name])
    for name in FIGURES:
        found[f"posterior_{name}"] = ((), getattr(posterior, name))
    found["posterior_warnings"] = ("warning", np.array(posterior.warnings, dtype=object).astype(str))
    return found


def from_variables(values: dict[str, Any]) -> Posterior | None:
    """What `to_variables` made, if anything."""
    if "posterior_S_mean" not in values:
        return None
    parts = {
        name: Marginals(*(values.get(f"posterior_{name}_{key}") for key in ("mean", "sd", "active")))  # type: ignore[arg-type]
        for name in DIMENSIONS
    }
    checked = ("noise", "pi", "stay", "beta", "S", "A")
    return Posterior(
        **parts,
        traces={name: values[f"posterior_trace_{name}"] for name in TRACES},
        rhat={name: values[f"posterior_rhat_{name}"] for name in checked},
        ess={name: values[f"posterior_ess_{name}"] for name in checked},
        n_samples=int(values["posterior_n_samples"]),
        burn=int(values["posterior_burn"]),
        error=float(values["posterior_error"]),
        settled=bool(values["posterior_settled"]),
        warnings=tuple(str(words) for words in values["posterior_warnings"]),
    )
