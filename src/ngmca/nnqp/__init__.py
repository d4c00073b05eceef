"""The one sub-problem: `min_{X >= 0} 1/2 <X, GX> - <C, X>`, solved for every column of C.

It serves the S-step (`G = A'A`, `C = A'Y - lam`), the A-step (`G = SS'`, `C = SY'`), new measurements
under learnt sources, and the oracle. `pivot` is exact; `fista` is the paper's iterative solver;
`bounded` limits the norms of rows, `closed` gives columns their sums, `shaped` gives rows their shapes.
"""

from ngmca.nnqp.bounded_rows import bounded
from ngmca.nnqp.certificate import Solution, duality_gap, objective, violation
from ngmca.nnqp.closed_rows import closed
from ngmca.nnqp.forward_backward import fista
from ngmca.nnqp.pivoting import pivot
from ngmca.nnqp.profile_shapes import shaped

__all__ = [
    "Solution",
    "bounded",
    "closed",
    "duality_gap",
    "fista",
    "objective",
    "pivot",
    "shaped",
    "violation",
]
