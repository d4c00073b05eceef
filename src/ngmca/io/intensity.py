"""Absorbance and transmittance: only absorbances of substances add up in a mixture."""

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import heading


def absorbance(y: NDArray, unit: str) -> tuple[NDArray, str, tuple[str, ...]]:
    """Return intensities, their unit and notes; transmittance is converted to absorbance."""
    if "TRANSMI" not in unit.upper():
        return y, unit, ()
    scale = 100.0 if "%" in unit or "PERCENT" in unit.upper() or y.max() > 2 else 1.0
    converted = -np.log10(np.clip(y / scale, 1e-4, None))
    return converted, "absorbance", ("transmittance was converted to absorbance, -log10 T, at most 4.",)


def intensity_kind(words: str) -> str:
    """Return "absorbance" or "transmittance" if a heading or a unit says so, else ""."""
    name = heading(words.strip())[0].lower().replace(" ", "")  # a sample may be called T, but not %T
    if name in ("%t", "%tr") or name.strip("%") in ("transmittance", "transmission"):
        return "transmittance"
    return "absorbance" if name.rstrip(".") in ("a", "abs", "absorbance") else ""
