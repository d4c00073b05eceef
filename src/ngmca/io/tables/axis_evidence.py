"""Evidence that a column or row of a table is its axis: points, and reasons in words."""

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_names import usual_quantity
from ngmca.io.axis_units import role
from ngmca.io.dataset import monotonic

SHORTEST_AXIS = 5  # fewer numbers may rise or fall by chance
SAFE_LENGTH = 10  # this many numbers hardly rise or fall by chance
MAX_PROFILES = 200  # that are checked along each direction
SPECTRAL_RANGE = (100.0, 20000.0)  # of wavelengths in nm and wavenumbers in cm-1
SMOOTH, ROUGH = 0.35, 0.65  # mean squared step, divided by that of numbers in random order
MIN_PROFILES = 6  # fewer do not show whether they are in an order
CLEAR_LEAD = 2.0  # points by which one reading must lead

Points = list[tuple[float, str]]


def is_counter(v: NDArray) -> bool:
    """Return whether numbers only count: 0, 1, 2 or 1, 2, 3."""
    return bool(v[0] in (0, 1) and np.array_equal(v, np.arange(len(v)) + v[0]))


def nature(v: NDArray, name: str, other: int = 0) -> Points:
    """Return evidence that numbers with this heading are an axis of spectra, not times or samples.

    `other` is the number of entries along the other direction.
    """
    points: Points = []
    known = role(name) if name else ""
    if known:
        points.append((1.5 if known in ("spectral", "channel") else -2.5, f"it is called {name!r}"))
    if len(v) < SHORTEST_AXIS:
        points.append((-1.0, f"it has only {len(v)} numbers"))
    if other and len(v) >= 3 * other:
        points.append((0.5, "it is the longer direction"))
    if is_counter(v):
        points.append((-1.5, "it only counts"))
    elif v[0] == 0 or 0 < v[0] <= 0.5 * np.median(np.diff(v)):
        points.append((-1.0, "it begins at 0"))
    elif in_spectral_range(v):
        usual = len(v) >= 2 * SAFE_LENGTH and is_even(v) and usual_quantity(v) is not None
        points.append((2.0 if usual else 1.0, f"{v[0]:g} to {v[-1]:g} is a usual range of spectra"))
    if len(v) >= SAFE_LENGTH and not is_even(v):
        points.append((-1.0, "its steps are uneven"))
    return points


def in_spectral_range(v: NDArray) -> bool:
    """Return whether numbers may be wavelengths in nm or wavenumbers in cm-1."""
    return bool(v.min() >= SPECTRAL_RANGE[0] and v.max() <= SPECTRAL_RANGE[1] and not is_counter(v))


def _reduced(points: Points, v: NDArray, count: int, more: float = 0.0) -> Points:
    """Return points for an axis without a name, less if it may be times or numbers of measurements.

    The total does not become negative: the other reading must not win by that alone.
    """
    less = more
    if count > max(len(v), MIN_PROFILES):
        less += 3.0
    elif count >= SAFE_LENGTH and len(v) < 3 * count and not in_spectral_range(v):
        less += 4.0
    return [*points, (-min(less, max(0.0, sum(one for one, _ in points))), "")]


def unnamed(v: NDArray, count: int, numbered: bool) -> Points:
    """Return evidence for a first column with an unknown name beside columns with names.

    `numbered` says whether those names contain numbers that may be an axis.
    """
    points: Points = [(2.0, "the other columns have names of measurements")]
    if len(v) >= 3 * count:
        points.append((1.0, "it is the longer direction"))
    if in_spectral_range(v):
        points.append((1.0, f"{v[0]:g} to {v[-1]:g} is a usual range of spectra"))
    return _reduced(points, v, count, 2.5 if numbered else 0.0)


def bare(v: NDArray, rest: NDArray) -> Points:
    """Return evidence that a first column without a name is an axis, not data like its neighbours."""
    points: Points = []
    rest = _without_gaps(rest.T).T
    others = list(rest[:, :20].T)
    rising = np.mean([monotonic(column) for column in others])
    if rising <= 0.2:
        points.append((2.0 if len(v) >= SAFE_LENGTH else 1.0, "it alone rises or falls all the way"))
    elif rising >= 0.8:
        points.append((-1.5, "its neighbours also rise or fall all the way"))
    if is_even(v) and np.mean([is_even(column) for column in others]) <= 0.5:
        points.append((1.5, "its steps are even"))
    if in_spectral_range(v):
        points.append((1.0, f"{v[0]:g} to {v[-1]:g} is a usual range of spectra"))
    if stands_out(v, rest):
        points.append((1.0, "its numbers differ from those beside it"))
    return _reduced(points, v, rest.shape[1])


def is_even(v: NDArray) -> bool:
    """Return whether numbers rise or fall in steps of about one size."""
    steps = np.abs(np.diff(v))
    return monotonic(v) and bool(steps.max() <= 4 * steps.min())


def almost_axis(v: NDArray) -> bool:
    """Return whether numbers are an axis except for a few unsorted ones."""
    steps = np.diff(v)
    if len(v) < SAFE_LENGTH or not np.isfinite(steps).all():
        return False
    one_way = max(np.mean(steps > 0), np.mean(steps < 0))
    usual = np.median(np.abs(steps))
    even = np.mean((np.abs(steps) <= 4 * usual) & (4 * np.abs(steps) >= usual))
    return bool(one_way >= 0.9 or (usual > 0 and even >= 0.95 and len(v) >= 3 * SAFE_LENGTH))


def is_label(v: NDArray, rest: NDArray) -> bool:
    """Return whether a first column without a name numbers the rows: it alone rises or falls."""
    if len(v) < SAFE_LENGTH or not monotonic(v):
        return False
    rising = np.mean([monotonic(column) for column in rest[:, :20].T])
    return bool(rising <= 0.2 and (is_even(v) or stands_out(v, rest)))


def other_axis(v: NDArray, rest: NDArray) -> int | None:
    """Return which column beside an axis is an axis as well: equal, or even; None if there is none."""
    if len(v) < 2 * SAFE_LENGTH:
        return None
    columns = [rest[:, j] for j in range(min(rest.shape[1], MAX_PROFILES))]
    even = [j for j, c in enumerate(columns) if is_even(c)]
    sure = [j for j in even if in_spectral_range(columns[j])]
    found = [j for j, c in enumerate(columns) if np.array_equal(c, v)] or sure
    return next(iter(found or (even if 2 * len(even) <= len(columns) else [])), None)


def stands_out(v: NDArray, rest: NDArray) -> bool:
    """Return whether numbers differ from their neighbours far more than these from each other."""
    if rest.shape[1] < 2:
        return False
    rest = _without_gaps(rest.T).T
    step = np.median(np.abs(v - rest[:, 0]))
    usual = np.median(np.abs(np.diff(rest[:, :20], axis=1)))
    return bool(step > 10 * usual)


def smoothness(Y: NDArray) -> Points:
    """Return points for channels along the rows of Y; negative if they seem to be down the columns.

    Spectra are smooth along their axis, and a reaction may be smooth along time. If only one direction
    is smooth, it is the axis; if both are, the one with more bands may be it. One reading gets these
    points and the transposed one loses them, so they count twice.
    """
    points = _smoother(_without_gaps(Y))
    return [(points, "spectra are smooth along it" if points > 0 else "")]


def _without_gaps(Y: NDArray) -> NDArray:
    """Return rows with missing entries interpolated linearly."""
    holes = np.isnan(Y)
    if not holes.any():
        return Y
    Y, places = Y.copy(), np.arange(Y.shape[1])
    for row, gone in zip(Y, holes, strict=True):
        row[gone] = 0 if gone.all() else np.interp(places[gone], places[~gone], row[~gone])
    return Y


def _smoother(Y: NDArray) -> float:
    along, down = _sampled(Y.T), _sampled(Y)
    if min(Y.shape) < MIN_PROFILES:
        return _few_profiles(Y)
    rough = _roughness(along), _roughness(down)
    if min(rough) < SMOOTH and max(rough) > ROUGH:
        return 1.25 if rough[0] < rough[1] else -1.25
    bands = _bands(along), _bands(down)
    if max(rough) < SMOOTH and max(bands) >= 2 * min(bands) + 1:
        return 0.5 if bands[0] > bands[1] else -0.5
    return 0.0


def _few_profiles(Y: NDArray) -> float:
    """Return the same points for a few long profiles, too few to compare across them."""
    m, n = Y.shape
    if max(m, n) < 4 * SHORTEST_AXIS or _roughness(_sampled(Y.T if n > m else Y)) > SMOOTH / 2:
        return 0.0
    return 0.75 if n > m else -0.75


def _sampled(values: NDArray) -> NDArray:
    """Return at most about MAX_PROFILES columns of a table."""
    return np.asarray(values[:, :: max(1, values.shape[1] // MAX_PROFILES)], dtype=float)


def _roughness(profiles: NDArray) -> float:
    """Return the mean squared step down the columns, 1 for numbers in random order."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = 2 * np.sum((profiles - profiles.mean(axis=0)) ** 2, axis=0)
        steps = np.sum(np.diff(profiles, axis=0) ** 2, axis=0)
    good = spread > 0
    return float(np.median(steps[good] / spread[good])) if good.any() else 1.0


def _bands(profiles: NDArray) -> float:
    """Return the mean number of maxima of a profile that stand out by a fifth of its height."""
    size = max(1, len(profiles) // 500)  # bands are counted in 500 points
    short = profiles[: len(profiles) // size * size, :40]
    means = short.reshape(-1, size, short.shape[1]).mean(axis=1)
    return float(np.mean([_maxima(column) for column in means.T]))


def _maxima(profile: NDArray) -> int:
    """Return how often numbers rise by a fifth of their range and then fall as much, or end."""
    needed = float(np.ptp(profile)) / 5
    if not needed > 0:
        return 0
    count, rising, extreme = 0, False, float(profile[0])
    for value in profile.tolist():
        if rising and value < extreme - needed:
            rising, extreme = False, value
        elif not rising and value > extreme + needed:
            rising, extreme, count = True, value, count + 1
        else:
            extreme = max(extreme, value) if rising else min(extreme, value)
    return count
