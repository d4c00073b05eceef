"""The formulations of sparsity in wavelets that the sequel compares, as S-steps of the library.

In the analysis form the coefficients that a source has are sparse. In the synthesis form the
coefficients that a source is made of are sparse, and every one of them needs a threshold, the smooth
ones too. The library itself uses the reweighted analysis form, with a threshold on channels besides.
"""

import numpy as np
from numpy.typing import NDArray

from ngmca.algorithms.wavelets.wavelet_stage import TAU, SourceStep
from ngmca.domains import Frame, analyse, analysis
from ngmca.paper import synthesis

CONSTANT_TAU = 1.0  # threshold in standard deviations of the noise, where all coefficients have the same


def analysis_form(*, reweighted: bool, tau: float | None = None) -> SourceStep:
    """Return the S-step with sparse coefficients of S; the smooth band has no threshold."""
    weigh = analysis.weigh if reweighted else _constant
    return SourceStep(weigh=weigh, tau=_tau(reweighted, tau), channels=False)


def synthesis_form(*, reweighted: bool, tau: float | None = None) -> SourceStep:
    """Return the S-step with S made of sparse coefficients; the smooth band has a threshold too."""

    def weigh(W: Frame, S: NDArray, noise: NDArray, tau: float) -> NDArray:
        Lam = analysis.weigh(W, S, noise, tau) if reweighted else _constant(W, S, noise, tau)
        smooth = np.abs(analyse(W, S)[:, -1]) if reweighted else np.zeros(1, S.dtype)
        Lam[:, -1] = tau * noise[:, -1:] / (1 + smooth / noise[:, -1:])
        return Lam

    return SourceStep(weigh, synthesis.descend, synthesis.solve, _tau(reweighted, tau), channels=False)


def _tau(reweighted: bool, tau: float | None) -> float:
    if tau is not None:
        return tau
    return TAU if reweighted else CONSTANT_TAU


def _constant(W: Frame, S: NDArray, noise: NDArray, tau: float) -> NDArray:
    """Return thresholds tau * noise that do not depend on S, and 0 in the smooth band."""
    Lam = np.repeat(noise.dtype.type(tau) * noise[:, :, None], W.period, axis=2)
    Lam[:, -1] = 0
    return Lam
