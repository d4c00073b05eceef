"""The methods that nGMCA is compared with, one file each, one signature, and the oracle.

Every method is `f(Y, r, *, n_iter, start, seed, tol, ...) -> Factors(A, S, cost)`. With the same
`start`, or the same `seed`, all of them and `ngmca.separate` begin with the same factors.
"""

from collections.abc import Callable

from ngmca.baselines.als import als
from ngmca.baselines.alternation import Factors
from ngmca.baselines.gmca import gmca
from ngmca.baselines.hals import hals
from ngmca.baselines.hoyer import hoyer
from ngmca.baselines.kim_park import kim_park
from ngmca.baselines.multiplicative import multiplicative
from ngmca.baselines.nenmf import nenmf
from ngmca.baselines.oracle import oracle
from ngmca.baselines.projected_gradient import projected_gradient
from ngmca.baselines.sparse_hals import sparse_hals
from ngmca.baselines.sparseness import project_norms, sparseness
from ngmca.baselines.zdunek_cichocki import zdunek_cichocki

METHODS: dict[str, Callable[..., Factors]] = {
    method.__name__: method
    for method in (
        multiplicative,
        als,
        hals,
        sparse_hals,
        hoyer,
        kim_park,
        projected_gradient,
        nenmf,
        zdunek_cichocki,
        gmca,
    )
}
SIGNED = ("gmca",)  # methods whose factors may be negative

__all__ = [
    "METHODS",
    "SIGNED",
    "Factors",
    "als",
    "gmca",
    "hals",
    "hoyer",
    "kim_park",
    "multiplicative",
    "nenmf",
    "oracle",
    "project_norms",
    "projected_gradient",
    "sparse_hals",
    "sparseness",
    "zdunek_cichocki",
]
