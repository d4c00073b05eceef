"""Simulated mixtures whose true factors are known."""

from ngmca.simulate._bands import bands
from ngmca.simulate._images import images
from ngmca.simulate._library import library
from ngmca.simulate._nmr import DEFAULT_COMPOUNDS, nmr, spectrum
from ngmca.simulate._sparse import sparse
from ngmca.simulate._spectra import spectra
from ngmca.simulate.compounds import compounds
from ngmca.simulate.mixture import Mixture
from ngmca.simulate.nmr_lines import peaks
from ngmca.simulate.peak_table import read_peaks

__all__ = [
    "DEFAULT_COMPOUNDS",
    "Mixture",
    "bands",
    "compounds",
    "images",
    "library",
    "nmr",
    "peaks",
    "read_peaks",
    "sparse",
    "spectra",
    "spectrum",
]
