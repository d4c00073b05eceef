"""Shifts of whole spectra along the axis: estimated against what all measurements have in common.

Measurements that are mixtures of r spectra have rank r, and a shift of a single measurement raises it.
The shifts are therefore those for which r directions leave the least. The derivative of what is left
by a shift is the product of the residual with the slope of the measurement, so that hundreds of shifts
can be found at once. Long shifts are found in data with few and wide channels first, fractions of a
channel in the data as they are. Spectra are moved by the shift theorem of the Fourier transform,
mirrored at the ends, which changes neither the level of their noise nor its correlation.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

MAX_MEASUREMENTS = 100  # from which the common directions are learnt
COARSE_STEPS, FINE_STEPS = 50, 150  # of the minimisation, in wide channels and in those of the data
FEW_STEPS = 25  # where the directions are known, and the best whole channel too
FEWEST_CHANNELS = 24  # wide ones, in which long shifts are searched for
CLEARLY_SHIFTED = 4.0  # standard deviations of what noise alone gains, from which on there are shifts
AS_GOOD = 1.05  # times the residual of one direction more, by degrees of freedom
LEAST = 1e-3  # smallest standard deviation of a shift that counts, in channels
AT_THE_BOUND = 0.98  # of the largest shift: beyond it the lines may be farther away
SCALE = 1e9  # of the energy that is minimised, so that small changes count
ENOUGH = 1e-8  # relative change of that energy at which a search ends


@dataclass(frozen=True)
class Shifts:
    """Shifts of measurements, in channels.

    Attributes
    ----------
    values : (m,) array
        How far the lines of each measurement are towards later channels; the median is 0. All are 0 if
        noise alone would give as much, or if another source explains more than shifts do.
    sd : (m,) array
        What noise adds to them.
    too_far : (m,) array of bool
        Measurements that no allowed shift brings to the others; their value is 0.
    lowers : float
        What r directions leave of the data as they are, over what they leave without the shifts.
    """

    values: NDArray
    sd: NDArray
    too_far: NDArray
    lowers: float


@dataclass(frozen=True, eq=False)
class Movable:
    """Spectra that can be moved by fractions of a channel.

    Attributes
    ----------
    channels : int
        Number of channels.
    waves : (m, channels + 1) array
        Fourier coefficients of the spectra, each followed by its mirror image.
    phase : (channels + 1,) array
        Logarithm of the factor of each coefficient for a move of one channel of the data back.
    """

    channels: int
    waves: NDArray
    phase: NDArray

    @classmethod
    def of(cls, Y: NDArray) -> "Movable":
        """Return spectra (m, n)."""
        n = Y.shape[1]
        waves = np.fft.rfft(np.concatenate([Y, Y[:, ::-1]], axis=1), axis=1)
        return cls(n, waves, 2j * np.pi * np.fft.rfftfreq(2 * n))

    def wider(self, times: int) -> "Movable":
        """Return smoothed spectra with channels that are this many times as wide."""
        n = self.channels // times
        phase = self.phase[: n + 1]
        return Movable(n, self.waves[:, : n + 1] * np.exp((phase * times) ** 2 / 2), phase)

    @property
    def count(self) -> int:
        """Number of spectra."""
        return len(self.waves)

    def rows(self, which: NDArray) -> "Movable":
        """Return some of the spectra."""
        return replace(self, waves=self.waves[which])

    def moved(self, by: NDArray) -> NDArray:
        """Return each spectrum moved by a number of channels towards later ones."""
        return self._values(self.waves * np.exp(-self.phase * by[:, None]))

    def moved_with_slopes(self, by: NDArray) -> tuple[NDArray, NDArray]:
        """Return the same, and its derivative by the move."""
        waves = self.waves * np.exp(-self.phase * by[:, None])
        return self._values(waves), self._values(-self.phase * waves)

    def _values(self, waves: NDArray) -> NDArray:
        return np.fft.irfft(waves, 2 * self.channels, axis=1)[:, : self.channels]


def found_shifts(Y: NDArray, r: int, most: float) -> Shifts:
    """Return the shifts of m mixtures of r spectra.

    Parameters
    ----------
    Y : (m, n) array
        Measurements.
    r : int
        Number of sources.
    most : float
        Largest shift, in channels.
    """
    m = len(Y)
    whole, none = Movable.of(Y), np.zeros(m)
    learnt = np.unique(np.linspace(0, m - 1, min(m, MAX_MEASUREMENTS)).round().astype(int))
    some = whole.rows(learnt)
    by = _searched(some, r, most)
    if len(learnt) < m:
        by = _beside(whole, _common(some, by, r, most), most)
    too_far = np.abs(by) > AT_THE_BOUND * most
    by = np.where(too_far, 0, by - np.median(by[~too_far] if not too_far.all() else none))
    inside = _inside(whole, most)
    common = _directions(whole.rows(learnt).moved(by[learnt])[:, inside], r)
    sd, growth = _spread(whole.moved(by)[:, inside], common)
    sd = np.where(too_far, np.inf, sd)
    size = len(learnt), inside.stop - inside.start
    still, moved = (whole.moved(one)[learnt, inside] for one in (none, by))
    before, after, another = (_left(X, k) for X, k in ((still, r), (moved, r), (still, r + 1)))
    noise = max(after / _freedom(size, r), np.finfo(float).tiny)
    by_chance = 1 + CLEARLY_SHIFTED * np.sqrt(2 / m)
    of_search = by_chance + 2 * np.log(1 + 2 * most)  # the best of so many places
    gains = (before - after) / (noise * growth) / len(learnt) > of_search
    better = noise < AS_GOOD * another / _freedom(size, r + 1)
    if not (gains and better and np.mean((by / sd) ** 2) > by_chance):
        return Shifts(none, sd, np.zeros(m, dtype=bool), 1.0)
    share = np.maximum(1 - (sd / np.maximum(np.abs(by), LEAST)) ** 2, 0)
    return Shifts(
        0.0 - by * share, sd, too_far, float(np.sqrt(before / max(after, np.finfo(float).tiny)))
    )


def _freedom(size: tuple[int, int], r: int) -> float:
    """Return the number of entries that r directions leave free."""
    return float((size[0] - r) * (size[1] - r))


def _searched(spectra: Movable, r: int, most: float) -> NDArray:
    """Return the moves that leave the least: near 0, and near those that wide channels show."""
    none = found = np.zeros(spectra.count)
    for times in reversed([2**k for k in range(1, 32) if 2**k <= most]):
        if spectra.channels >= FEWEST_CHANNELS * times:
            limit = most / times
            found = _minimised(spectra.wider(times), found, r, most, limit, COARSE_STEPS)[1]
    tries = [_minimised(spectra, one, r, most, most, FINE_STEPS) for one in (none, found)]
    best = min(tries, key=lambda one: one[0])
    places = _best_places(spectra, best[1], _common(spectra, best[1], r, most), most)
    if (places == best[1]).all():
        return best[1]
    again = _minimised(spectra, places, r, most, most, FINE_STEPS)
    return min(best, again, key=lambda one: one[0])[1]


def _beside(spectra: Movable, common: NDArray, most: float) -> NDArray:
    """Return the moves with which known directions leave the least of each spectrum."""
    places = _best_places(spectra, np.zeros(spectra.count), common, most)
    return _minimised(spectra, places, len(common), most, most, FEW_STEPS, common)[1]


def _common(spectra: Movable, by: NDArray, r: int, edge: float) -> NDArray:
    """Return the r directions of moved spectra inside the axis."""
    return _directions(spectra.moved(by)[:, _inside(spectra, edge)], r)


def _best_places(spectra: Movable, by: NDArray, common: NDArray, most: float) -> NDArray:
    """Return moves with whole channels added where less is left there: a search ends at the nearest."""
    Z, n, inside = spectra.moved(by), spectra.channels, _inside(spectra, most)
    directions = np.zeros((len(common), n))
    directions[:, inside] = common
    waves = np.fft.rfft(Z, 2 * n, axis=1)
    explained = np.zeros((len(Z), 2 * n))
    for one in directions:
        explained += np.fft.irfft(np.fft.rfft(one, 2 * n) * np.conj(waves), 2 * n, axis=1) ** 2
    more = np.arange(-int(most), int(most) + 1)
    sums = np.cumsum(np.pad(Z**2, ((0, 0), (1, 0))), axis=1)
    energy = sums[:, inside.stop - more] - sums[:, inside.start - more]
    left = 1 - explained[:, more] / np.maximum(energy, np.finfo(float).tiny)
    left[np.abs(by[:, None] + more) > most] = np.inf
    return np.asarray(by + more[left.argmin(axis=1)])


def _inside(spectra: Movable, most: float) -> slice:
    """Return the channels that no allowed shift fills from beyond the ends."""
    edge = int(np.ceil(most))
    return slice(edge, spectra.channels - edge)


def _minimised(
    spectra: Movable,
    by: NDArray,
    r: int,
    most: float,
    edge: float,
    steps: int,
    common: NDArray | None = None,
) -> tuple[float, NDArray]:
    """Return the moves near `by` for which r directions, or those in common, leave the least.

    The first value is how much they leave. Each spectrum keeps its norm inside the axis: without that,
    the strongest lines would leave at the ends.
    """
    from scipy.optimize import minimize  # slow to load

    inside = _inside(spectra, edge)
    own, tiny = np.sum(spectra.moved(np.zeros(len(by)))[:, inside] ** 2, axis=1), np.finfo(float).tiny
    energy = float(own.sum())
    if not energy > 0:
        return 0.0, by

    def centred(by: NDArray) -> NDArray:
        """Return moves with the mean of before, because a move of all changes nothing."""
        return by - by.mean() if common is None else by

    def left(by: NDArray) -> tuple[float, NDArray]:
        by = centred(by)
        Z, slopes = (X[:, inside] for X in spectra.moved_with_slopes(by))
        now = np.maximum(np.einsum("ij,ij->i", Z, Z), tiny)
        slopes = slopes - (np.einsum("ij,ij->i", Z, slopes) / now)[:, None] * Z
        Z, slopes = (X * np.sqrt(own / now)[:, None] for X in (Z, slopes))
        directions = _directions(Z, r) if common is None else common
        rest = Z - (Z @ directions.T) @ directions
        slope = 2 * np.einsum("ij,ij->i", rest, slopes)
        return SCALE * float(np.sum(rest**2)) / energy, centred(SCALE * slope / energy)

    found = minimize(
        left, by, jac=True, method="L-BFGS-B", bounds=[(-most, most)] * len(by),
        options={"maxiter": steps, "ftol": ENOUGH},
    )  # fmt: skip
    return float(found.fun), centred(found.x)


def _directions(Z: NDArray, r: int) -> NDArray:
    """Return the r directions (r, n) with most of the energy of rows; 0 where there is only rounding."""
    if len(Z) > Z.shape[1]:
        return np.asarray(np.linalg.eigh(Z.T @ Z)[1][:, -r:].T)
    values, U = np.linalg.eigh(Z @ Z.T)
    rounding = len(Z) * np.finfo(float).eps * max(float(values[-1]), 0.0)
    size = np.sqrt(np.where(values[-r:] > rounding, values[-r:], np.inf))
    return np.asarray((U[:, -r:] / size).T @ Z)


def _left(Z: NDArray, r: int) -> float:
    """Return the energy that r directions leave."""
    V = _directions(Z, r)
    return float(np.sum((Z - (Z @ V.T) @ V) ** 2))


def _spread(Z: NDArray, common: NDArray) -> tuple[NDArray, float]:
    """Return the standard deviations of shifts, by products of slopes with the residual at other places.

    They keep the colour of the noise along the axis. Noise that is larger where lines are steep, as in
    counts, makes them larger. The second value is how many times their variance is that for white noise
    of one level.
    """
    fit = (Z @ common.T) @ common
    slopes = np.gradient(fit, axis=1)
    slopes -= (slopes @ common.T) @ common
    n = Z.shape[1]
    waves = (np.fft.rfft(X, n, axis=1) for X in (Z - fit, slopes))
    products = np.fft.irfft(np.multiply(next(waves), np.conj(next(waves))), n, axis=1)
    energy, variance = np.sum(slopes**2, axis=1), np.mean(products**2, axis=1)
    white = energy * np.mean((Z - fit) ** 2, axis=1)
    at_lines = np.sum((slopes * (Z - fit)) ** 2, axis=1)  # other places miss noise that is at the lines
    uneven = np.divide(at_lines, white, out=np.ones(len(Z)), where=white > 0)
    variance *= max(float(np.median(uneven)), 1.0)
    growth = np.divide(variance, white, out=np.ones(len(Z)), where=white > 0)
    found = np.divide(np.sqrt(variance), energy, out=np.full(len(Z), np.inf), where=energy > 0)
    return np.maximum(found, LEAST), max(float(np.median(growth)), 1.0)
