"""How little of a substance would have been seen: a spectrum is planted in the data, and looked for."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca._support.progress import open_bar
from ngmca.answers.missing_entries import with_gaps
from ngmca.engines import open_data, spread, without_outliers
from ngmca.plotting.sources_plot import wrong_shape
from ngmca.result import Separation
from ngmca.separation import separate

MAX_ROWS = 60  # measurements that are separated again; of more, these are spread over the data
STEPS = 16  # strengths, each of them larger than the one before by the root of 2
ALIKE = 0.9  # correlation with the planted spectrum, from which a source counts as found
MAX_RATIO = 1.5  # between the amounts that were found and planted
SEEN = 0.9  # share of the tries in which the spectrum is found, from which it would have been seen
RESEMBLES = 0.95  # correlation with a source, above which a spectrum is no new one


@dataclass(frozen=True, eq=False, repr=False)
class DetectionLimit:
    """How little of a substance would have been seen; see `ngmca.detection_limit`.

    Attributes
    ----------
    amount : float
        The smallest multiple of the spectrum that was found in nine of ten tries; infinite if none was.
    height : float
        The same as the height of the highest point, in units of the data.
    percent : float
        The same in percent of the mean signal, both summed over the channels.
    name : str
        Name of the substance.
    tried : (k,) array
        The amounts that were tried.
    found : (k,) array
        Share of the tries in which each of them was found. Tries end when two of them failed.
    """

    amount: float
    height: float
    percent: float
    name: str
    tried: NDArray = field(repr=False)
    found: NDArray = field(repr=False)

    @property
    def words(self) -> str:
        """The limit in one sentence."""
        if np.isfinite(self.amount):
            return (
                f"{self.percent:.2g} % of {self.name} would have been seen (height {self.height:.3g}; "
                "percent of the mean signal)."
            )
        return f"Nothing can be said about {self.name}: no amount that was tried was found again."

    def __repr__(self) -> str:
        return f"DetectionLimit: {self.words}"


def detection_limit(
    data: Any,
    separation: Separation,
    spectrum: ArrayLike,
    *,
    name: str = "the substance",
    part: float = 0.5,
    tries: int = 10,
    mask: ArrayLike | None = None,
    seed: int = 0,
    progress: bool = False,
) -> DetectionLimit:
    """Find how little of a substance would have been seen in these data.

    The spectrum is added to a part of the measurements, drawn at random, and everything is separated
    again with one source more. The spectrum is found if a source correlates with it by at least 0.9, and
    if the amount of this source differs between these measurements and the others by what was added, up
    to a factor of 1.5. The smallest amount that is found in nine of ten tries is searched by bisection,
    in steps of the root of 2. At most 50 separations are needed, usually about 30.

    Parameters
    ----------
    data : (m, n) array, Dataset, DataFrame or DataArray
        The data that were separated. Of more than 60 measurements, 60 are used, spread over the data. A
        background of the separation is taken away first.
    separation : Separation
        What `separate` returned.
    spectrum : (n,) array
        The spectrum of the substance in the channels of the data.
    name : str
        Its name in the answer.
    part : float
        Share of the measurements that contain it, below 1.
    tries : int
        Number of tries for each amount.
    mask : (m, n) array of bool, optional
        True where an entry is missing, in addition to NaN and masked entries.
    seed : int
        The same seed gives the same answer.
    progress : bool
        Show a progress bar.

    Returns
    -------
    DetectionLimit
        The smallest amount, also as a height in units of the data and in percent of the mean signal.

    Raises
    ------
    ValueError
        If the spectrum is not non-negative or resembles one of the sources, or if another argument has
        a wrong value.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> mixture = ngmca.simulate.sparse(20, 100, 2, p_S=0.2, snr=20, seed=0)
    >>> separation = ngmca.separate(mixture.Y, 2, n_init=1)
    >>> line = np.exp(-0.5 * ((np.arange(100) - 50) / 2) ** 2)
    >>> limit = ngmca.detection_limit(mixture.Y, separation, line, name="acetone", tries=3)
    >>> bool(0 < limit.percent < 100)
    True
    """
    if not 0 < arguments.check_number(part, "part", high=1.0) < 1:
        raise ArgumentError("{} must be above 0 and below 1, got {}.", option("part"), part)
    tries = arguments.check_count(tries, "tries")
    plan = _Plan.of(data, separation, _checked(spectrum, separation), part, mask)
    below, above, found = -1, STEPS, dict[int, float]()  # steps that are too weak, and strong enough
    with open_bar(STEPS.bit_length() * tries, show=progress, label="planted spectra") as bar:
        while above - below > 1:
            step = (below + above) // 2
            hits = misses = 0
            while hits + misses < tries and misses <= (1 - SEEN) * tries:
                seen = plan.finds(step, np.random.SeedSequence([seed, step, hits + misses]))
                hits, misses = hits + seen, misses + (not seen)
                if bar is not None:
                    bar.advance()
            found[step] = hits / (hits + misses)
            below, above = (below, step) if misses <= (1 - SEEN) * tries else (step, above)
    steps = sorted(found)
    amount = plan.amount(above) if above < STEPS else np.inf
    return DetectionLimit(
        amount=amount,
        height=amount * float(plan.spectrum.max()),
        percent=100 * amount * float(plan.spectrum.sum()) / plan.mean_signal,
        name=name,
        tried=np.array([plan.amount(step) for step in steps]),
        found=np.array([found[step] for step in steps]),
    )


def _checked(spectrum: ArrayLike, separation: Separation) -> NDArray:
    """Return the spectrum, or raise an error that says what is wrong with it."""
    values = np.asarray(arguments.as_array(spectrum, "spectrum"), dtype=float)
    if values.shape != separation.S.shape[1:] or not np.isfinite(values).all():
        raise ArgumentError(
            "{} must have one finite number for each of the {} channels, got shape {}.",
            *(option("spectrum"), separation.S.shape[1], values.shape),
        )
    if values.min() < 0 or values.max() <= 0:
        raise ArgumentError("{} must not be negative, and not 0 everywhere.", option("spectrum"))
    alike = correlations(values, separation.S)
    if alike.max(initial=0) > RESEMBLES:
        raise ArgumentError(
            "{} resembles source {} (correlation {:.2f}), so it is no new substance. Its amounts are "
            "those of this source.",
            *(option("spectrum"), int(alike.argmax()) + 1, float(alike.max())),
        )
    return values


def correlations(spectrum: NDArray, S: NDArray) -> NDArray:
    """Return the correlation of a spectrum with each source; 0 for sources that are constant."""
    x, X = spectrum - spectrum.mean(), S - S.mean(axis=1, keepdims=True)
    size = np.linalg.norm(x) * np.linalg.norm(X, axis=1)
    return np.divide(X @ x, size, out=np.zeros(len(S)), where=size > 0)


@dataclass(frozen=True, eq=False)
class _Plan:
    """What is planted, and where."""

    Y: NDArray  # without a background, NaN where missing
    separation: Separation
    spectrum: NDArray
    planted: int  # measurements
    least: float  # amount whose signal to noise is 1 in all of these measurements together
    mean_signal: float  # of a measurement, summed over the channels

    @classmethod
    def of(
        cls,
        data: Any,
        separation: Separation,
        spectrum: NDArray,
        part: float,
        mask: ArrayLike | None,
    ) -> "_Plan":
        engine = open_data(data, mask=mask)
        shape = (len(separation.A), separation.S.shape[1])
        if engine.shape != shape:
            raise wrong_shape(engine.shape, shape)
        rows = np.arange(shape[0])[spread(shape[0], MAX_ROWS, np.random.default_rng(0))]
        Y = with_gaps(without_outliers(engine, separation.outliers), rows).astype(float) * engine.unit
        if separation.background is not None:
            Y -= separation.background.weights[rows] @ separation.background.basis
        planted = int(np.clip(round(part * len(Y)), 1, len(Y) - 1))
        noise = float(np.sqrt(np.mean(separation.noise[rows] ** 2)))
        signal = float(np.mean(separation.A[rows] @ separation.S.sum(axis=1)))
        least = (noise or 1e-6 * float(np.nanmax(Y))) / np.linalg.norm(spectrum) / np.sqrt(planted)
        return cls(Y, separation, spectrum, planted, least, signal or 1.0)

    def amount(self, step: int) -> float:
        """Return the amount at a step."""
        return float(self.least * 2 ** ((step + 1) / 2))

    def finds(self, step: int, seed: np.random.SeedSequence) -> bool:
        """Plant the spectrum in measurements drawn at random, and say whether it is found again."""
        rng, amount = np.random.default_rng(seed), self.amount(step)
        where = np.zeros(len(self.Y), bool)
        where[rng.permutation(len(self.Y))[: self.planted]] = True
        Y = self.Y + amount * np.outer(where, self.spectrum)
        r, domain = len(self.separation.S) + 1, self.separation.domain.name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about one source too many, for weak ones
            found = separate(Y, r, domain=domain, n_init=1, seed=rng)
        alike = correlations(self.spectrum, found.S)
        k = int(alike.argmax())
        if alike[k] < ALIKE:
            return False
        size = found.S[k] @ self.spectrum / (self.spectrum @ self.spectrum)
        change = size * (found.A[where, k].mean() - found.A[~where, k].mean())
        return bool(amount / MAX_RATIO <= change <= amount * MAX_RATIO)
