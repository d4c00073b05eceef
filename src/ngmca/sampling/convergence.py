"""Agreement of the chains, and effective sample sizes."""

import numpy as np
from numpy.typing import NDArray


def split_rhat(traces: NDArray) -> NDArray:
    """Return split R-hat (Gelman et al., 2013) of traces (chain, sample, ...); 1 is agreement."""
    halves = _halves(traces)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    total = (n - 1) / n * within + between
    return np.sqrt(np.divide(total, within, out=np.ones_like(total), where=within > 0))


def effective_size(traces: NDArray) -> NDArray:
    """Return the effective sample size of the mean of traces (chain, sample, ...).

    The sum over autocorrelations ends where the sum of two neighbours becomes negative, and these sums
    must not rise (Geyer, 1992).
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
    """Return R-hat and effective size of each source, from means (half, entry, source) of its entries.

    Both compare sums over the entries of a source: the variance between the means of the halves, and the
    posterior variance. If both are 0, the chains agree.
    """
    between = means.var(axis=0, ddof=1).sum(axis=0)
    within = variance.sum(axis=0)
    ratio = np.divide(between, within, out=np.zeros_like(within), where=within > 0)
    size = np.divide(len(means), ratio, out=np.full_like(within, np.inf), where=ratio > 0)
    return np.sqrt(1 + ratio), size


def drifts(means: NDArray) -> bool:
    """Return whether the halves of the chains, means (chain, 2, ...), differ more than the chains.

    The chains start at the same point. Before they reach the posterior, all drift in the same direction.
    """
    chains = len(means)
    drift = (means[:, 1] - means[:, 0]).mean(axis=0)
    spread = means.var(axis=0, ddof=1).mean(axis=0)
    return bool(np.sum(drift**2) > 3 * (2 / chains) * np.sum(spread))


def _halves(traces: NDArray) -> NDArray:
    """Return each chain as two, without the middle sample if their number is odd."""
    n = traces.shape[1] // 2
    return np.concatenate([traces[:, :n], traces[:, traces.shape[1] - n :]])


def _autocovariance(x: NDArray) -> NDArray:
    """Return the autocovariance along axis 1 at every lag."""
    n = x.shape[1]
    centred = x - x.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, 2 * n, axis=1)[:, :n] / n
