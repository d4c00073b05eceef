"""Simulated mixtures with known factors."""

from ngmca.simulate.mixture import Mixture
from ngmca.simulate.sparse import sparse

__all__ = ["Mixture", "sparse"]
