"""Intensities that add up over a mixture."""

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import heading


def absorbance(y: NDArray, unit: str) -> tuple[NDArray, str, tuple[str, ...]]:
    """Intensities, their unit and what is to be said: transmittance is turned into absorbance.

    Only absorbance adds up over a mixture.
    """
    if "TRANSMI" not in unit.upper():
        return y, unit, ()
    scale = 100.0 if "%" in unit or "PERCENT" in unit.upper() or y.max() > 2 else 1.0
    turned = -np.log10(np.clip(y / scale, 1e-4, None))
    return turned, "absorbance", ("transmittance was turned into absorbance, -log10 T, at most 4.",)


def kind_told(words: str) -> str:
    """`absorbance` or `transmittance`, where the heading or the unit of intensities says so."""
    name = heading(words.strip())[0].lower().replace(" ", "")  # a sample may be called T, not %T
    if name in ("%t", "%tr") or name.strip("%") in ("transmittance", "transmission"):
        return "transmittance"
    return "absorbance" if name.rstrip(".") in ("a", "abs", "absorbance") else ""
