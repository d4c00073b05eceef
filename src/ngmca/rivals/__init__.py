"""The methods that nGMCA is compared with, one file each, one signature, and the oracle.

Every method is `f(Y, r, *, n_iter, start, seed, tol, ...) -> Factors(A, S, cost)`. With the same
`start`, or the same `seed`, all of them and `ngmca.separate` begin with the same factors.
"""

from ngmca.rivals._als import als
from ngmca.rivals._gmca import gmca
from ngmca.rivals._hals import hals
from ngmca.rivals._hoyer import hoyer
from ngmca.rivals._kim_park import kim_park
from ngmca.rivals._multiplicative import multiplicative
from ngmca.rivals._nenmf import nenmf
from ngmca.rivals._oracle import oracle
from ngmca.rivals._projected_gradient import projected_gradient
from ngmca.rivals._sparse_hals import sparse_hals
from ngmca.rivals._sparseness import project_norms, sparseness
from ngmca.rivals._zdunek_cichocki import zdunek_cichocki
from ngmca.rivals.alternation import Factors
from ngmca.rivals.methods import METHODS, SIGNED
from ngmca.rivals.outcome import as_separation, own_options

__all__ = [
    "METHODS",
    "SIGNED",
    "Factors",
    "als",
    "as_separation",
    "gmca",
    "hals",
    "hoyer",
    "kim_park",
    "multiplicative",
    "nenmf",
    "oracle",
    "own_options",
    "project_norms",
    "projected_gradient",
    "sparse_hals",
    "sparseness",
    "zdunek_cichocki",
]
