"""Simulated mixtures with known factors."""

from ngmca.simulate.mixture import Mixture
from ngmca.simulate.sparse import sparse
from ngmca.simulate.spectra import spectra

__all__ = ["Mixture", "sparse", "spectra"]
