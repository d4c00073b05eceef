"""The methods that nGMCA is compared with, one file each, one signature, and the oracle.

Every method is `f(Y, r, *, n_iter, start, seed, tol, ...) -> Factors(A, S, cost)`, with its own options
as further keywords. With the same `start`, or the same `seed`, all of them and `ngmca.separate` start
from the same factors. Those in `DIRECT` start from the data alone and have no `start`; `spa` and `vca`
do not iterate and have no `n_iter` and no `tol`.

To add a method:

1. Write `_name.py` with one function `name(problem, *, ...)`, decorated by `alternation.rival`, which
   adds the shared parameters, and enters the method into `METHODS`. `_als.py` is the shortest example:
   `alternate` runs a step on A and a step on S in turn. Methods that need no start are decorated by
   `subspace.direct` or `subspace.at_once` instead.
2. Import it below. With that, `separate`, the estimator, the command line and the tests in
   `tests/rivals` know it. If its factors may be negative, add its name to `SIGNED` in `by_name.py`.
"""

from ngmca.rivals._als import als
from ngmca.rivals._gmca import gmca
from ngmca.rivals._hals import hals
from ngmca.rivals._hoyer import hoyer
from ngmca.rivals._kim_park import kim_park
from ngmca.rivals._minvol import minvol
from ngmca.rivals._multiplicative import multiplicative
from ngmca.rivals._nenmf import nenmf
from ngmca.rivals._nonnegative_ica import nonnegative_ica
from ngmca.rivals._oracle import oracle
from ngmca.rivals._projected_gradient import projected_gradient
from ngmca.rivals._spa import spa
from ngmca.rivals._sparse_hals import sparse_hals
from ngmca.rivals._sparseness import project_norms, sparseness
from ngmca.rivals._vca import vca
from ngmca.rivals._zdunek_cichocki import zdunek_cichocki
from ngmca.rivals.alternation import METHODS, Factors
from ngmca.rivals.by_name import DIRECT, SIGNED, as_separation

__all__ = [
    "DIRECT",
    "METHODS",
    "SIGNED",
    "Factors",
    "als",
    "as_separation",
    "gmca",
    "hals",
    "hoyer",
    "kim_park",
    "minvol",
    "multiplicative",
    "nenmf",
    "nonnegative_ica",
    "oracle",
    "project_norms",
    "projected_gradient",
    "spa",
    "sparse_hals",
    "sparseness",
    "vca",
    "zdunek_cichocki",
]
