"""Do the chains agree, and how much do they know?"""

import numpy as np
from numpy.typing import NDArray


def split_rhat(traces: NDArray) -> NDArray:
    """Split R-hat (Gelman and others, 2013) of traces (chain, draw, ...): 1 where the halves agree."""
    halves = _halves(traces)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    total = (n - 1) / n * within + between
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def effective_size(traces: NDArray) -> NDArray:
    """Effective sample size of the mean of traces (chain, draw, ...), over all chains and their halves.

    The sum over autocorrelations ends where the sum of two neighbours turns negative, and neighbours'
    sums are not allowed to rise (Geyer, 1992).
    """
    halves = _halves(traces)
    chains, n = halves.shape[:2]
    covariance = _autocovariance(halves).mean(axis=0)
    total = covariance[0] + halves.mean(axis=1).var(axis=0, ddof=1)
    within = covariance[0] * n / (n - 1)
    shortfall = (within - covariance) / np.where(total > 0, total, 1)
    correlation = 1 - shortfall
    correlation[0] = 1
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, *correlation.shape[1:]).sum(axis=1)
    alive = np.logical_and.accumulate(pairs > 0, axis=0)
    pairs = np.minimum.accumulate(np.where(alive, pairs, 0), axis=0)
    time = np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(chains * n))
    return np.where(total > 0, chains * n / time, chains * n)


def agreement(means: NDArray, variance: NDArray) -> tuple[NDArray, NDArray]:
    """R-hat and effective size of each source, from the means (halves, entry, source) of its entries.

    Both compare sums over a source's entries: the variance between the halves' means, and the posterior
    variance. Where neither moves they agree.
    """
    between = means.var(axis=0, ddof=1).sum(axis=0)
    within = variance.sum(axis=0)
    ratio = np.divide(between, within, out=np.zeros_like(within), where=within > 0)
    size = np.divide(len(means), ratio, out=np.full_like(within, np.inf), where=ratio > 0)
    return np.sqrt(1 + ratio), size


def drifts(means: NDArray) -> bool:
    """Whether the halves of the chains, means (chain, 2, ...), differ more than the chains do.

    The chains start together. As long as all of them are still on their way, they move alike.
    """
    chains = len(means)
    drift = (means[:, 1] - means[:, 0]).mean(axis=0)
    spread = means.var(axis=0, ddof=1).mean(axis=0)
    return bool(np.sum(drift**2) > 3 * (2 / chains) * np.sum(spread))


def _halves(traces: NDArray) -> NDArray:
    """Every chain as two, the middle draw of an odd number left out: (2 chain, draw / 2, ...)."""
    n = traces.shape[1] // 2
    return np.concatenate([traces[:, :n], traces[:, traces.shape[1] - n :]])


def _autocovariance(x: NDArray) -> NDArray:
    """Along axis 1, at every lag."""
    n = x.shape[1]
    centred = x - x.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n
