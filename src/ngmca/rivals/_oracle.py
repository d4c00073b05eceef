"""The sources that `soft` finds if the mixing is known (the paper's oracle)."""

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

    Parameters
    ----------
    Y : array_like of shape (m, n)
        Measurements x channels.
    A_ref : array_like of shape (m, r)
        The mixing. Its columns need not have norm 1: another scale of a column only scales its source.
    tau : float
        Threshold in standard deviations of the noise.
    noise : float or array_like of shape (m,), optional
        Standard deviation of the noise, one for all or one for each measurement. Without it, the noise
        is estimated from the residual Y - A_ref S, and S is solved again until the two agree.

    Returns
    -------
    Factors
        A_ref, S and, as the only entry of `cost`, 1/2 |Y - A_ref S|^2.

    Examples
    --------
    >>> import ngmca
    >>> data = ngmca.simulate.sparse(m=10, n=40, r=2, snr=30, seed=0)
    >>> ngmca.rivals.oracle(data.Y, data.A).S.shape
    (2, 40)
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
