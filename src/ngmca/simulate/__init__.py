"""Simulated mixtures with known factors."""

from ngmca.simulate.library import compounds
from ngmca.simulate.lines import peaks
from ngmca.simulate.mixture import Mixture
from ngmca.simulate.nmr import DEFAULT_COMPOUNDS, nmr, spectrum
from ngmca.simulate.peak_table import read_peaks
from ngmca.simulate.sparse import sparse
from ngmca.simulate.spectra import spectra

__all__ = [
    "DEFAULT_COMPOUNDS",
    "Mixture",
    "compounds",
    "nmr",
    "peaks",
    "read_peaks",
    "sparse",
    "spectra",
    "spectrum",
]
