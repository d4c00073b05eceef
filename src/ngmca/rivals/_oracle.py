"""What `soft` could find if it knew the mixing (the paper's oracle)."""

import numpy as np
from numpy.typing import ArrayLike

from ngmca._support import arguments
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms.sources_for_mixing import sources_for
from ngmca.engines import by_residual, open_whole
from ngmca.rivals.alternation import Factors


@one_blas_thread
def oracle(
    Y: ArrayLike, A_ref: ArrayLike, *, tau: float = 1.0, noise: ArrayLike | None = None
) -> Factors:
    """argmin_{S >= 0} 1/2 |Y - A_ref S|^2 + sum_i lam_i |S_i|_1, exactly, for known mixing A_ref.

    As in `soft`, lam_i is tau times the standard deviation of the noise in row i of A_ref'(A_ref S - Y).
    `noise`, a number or one per measurement, is the standard deviation in Y. If it is not given it is
    estimated from the residual Y - A_ref S, and S is solved anew until the two agree. The columns of
    A_ref need not have norm 1: another scale of a column only scales its source. The single entry of
    `cost` is 1/2 |Y - A_ref S|^2.
    """
    engine = by_residual(open_whole(Y))
    A = arguments.check_mixing(A_ref, engine.shape[0], "A_ref")
    tau = arguments.check_number(tau, "tau")
    unit = engine.unit
    sigma = arguments.check_noise(noise, engine)
    sweep = sources_for(engine, A, tau, sigma)
    with np.errstate(over="ignore"):
        cost = np.array([sweep.cost]) * unit * unit
    return Factors(A=A.astype(engine.dtype), S=(sweep.S * unit).astype(engine.dtype), cost=cost)
