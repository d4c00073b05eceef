"""What speaks for a column or a row of a table being its axis: points for it, and words for the user."""

import numpy as np
from numpy.typing import NDArray

from ngmca.io.axis_units import role
from ngmca.io.dataset import monotonic

SHORTEST_AXIS = 5  # fewer numbers may rise or fall by chance
SURE = 10  # as many hardly do
MOST = 200  # profiles that are looked at along each direction
POINTS = 500  # of a profile, in which its bands are counted
SPECTRAL = (100.0, 20000.0)  # where wavelengths in nm and wavenumbers in cm-1 lie
SMOOTH, ROUGH = 0.35, 0.65  # mean squared step, over that of numbers in random order
FEW = 6  # profiles that are too few to tell whether they are in an order
SMOOTHER = 1.25  # points for being smooth along the axis and not across
CLEAR = 2.0  # points by which one reading must lead

Points = list[tuple[float, str]]


def is_counter(v: NDArray) -> bool:
    """Whether numbers only count: 0, 1, 2 or 1, 2, 3."""
    return bool(v[0] in (0, 1) and np.array_equal(v, np.arange(len(v)) + v[0]))


def nature(v: NDArray, name: str, other: int = 0) -> Points:
    """What numbers and their heading say about being an axis of spectra, rather than times or samples.

    `other` is how many numbers there are along the other direction.
    """
    points: Points = []
    known = role(name) if name else ""
    if known:
        points.append((1.5 if known in ("spectral", "channel") else -2.5, f"it is called {name!r}"))
    if len(v) < SHORTEST_AXIS:
        points.append((-1.0, f"it has {len(v)} numbers only"))
    if other and len(v) >= 3 * other:
        points.append((0.5, "it is the long one"))
    if is_counter(v):
        points.append((-1.5, "it only counts"))
    elif v[0] == 0:
        points.append((-1.0, "it begins at 0"))
    elif in_spectral_range(v):
        points.append((1.0, f"{v[0]:g} to {v[-1]:g} is where spectra are measured"))
    return points


def in_spectral_range(v: NDArray) -> bool:
    """Whether numbers may be wavelengths in nm or wavenumbers in cm-1."""
    return bool(v.min() >= SPECTRAL[0] and v.max() <= SPECTRAL[1] and not is_counter(v))


def _doubted(points: Points, v: NDArray, count: int, more: float = 0.0) -> Points:
    """Points for an axis without a name, less where it may be times or numbers of measurements.

    Never so much less that the other reading wins by that: it is to be asked about.
    """
    less = more
    if count > max(len(v), FEW):
        less += 3.0
    elif count >= SURE and len(v) < 3 * count and not in_spectral_range(v):
        less += 4.0
    return [*points, (-min(less, max(0.0, sum(one for one, _ in points))), "")]


def unnamed(v: NDArray, count: int, numbered: bool) -> Points:
    """What the numbers say of a first column that is not called anything known, beside named ones.

    `numbered` says whether numbers that may be an axis are in those names.
    """
    points: Points = [(2.0, "it alone has no name of a measurement")]
    if len(v) >= 3 * count:
        points.append((1.0, "it is the long one"))
    if in_spectral_range(v):
        points.append((1.0, f"{v[0]:g} to {v[-1]:g} is where spectra are measured"))
    return _doubted(points, v, count, 2.5 if numbered else 0.0)


def bare(v: NDArray, rest: NDArray) -> Points:
    """What speaks for a first column without a name being an axis, and no data like its neighbours."""
    points: Points = []
    rest = _whole(rest.T).T
    others = list(rest[:, :20].T)
    rising = np.mean([monotonic(column) for column in others])
    if rising <= 0.2:
        points.append((2.0 if len(v) >= SURE else 1.0, "it alone rises or falls all the way"))
    elif rising >= 0.8:
        points.append((-1.5, "its neighbours rise or fall all the way, too"))
    if is_even(v) and np.mean([is_even(column) for column in others]) <= 0.5:
        points.append((1.5, "its steps are even"))
    if in_spectral_range(v):
        points.append((1.0, f"{v[0]:g} to {v[-1]:g} is where spectra are measured"))
    if stands_out(v, rest):
        points.append((1.0, "its numbers are not like those beside it"))
    return _doubted(points, v, rest.shape[1])


def is_even(v: NDArray) -> bool:
    """Whether numbers rise or fall in steps of about one size."""
    steps = np.abs(np.diff(v))
    return monotonic(v) and bool(steps.max() <= 4 * steps.min())


def almost_axis(v: NDArray) -> bool:
    """Whether numbers are an axis but for a few that stand still or turn back."""
    steps = np.diff(v)
    if len(v) < SURE or not np.isfinite(steps).all():
        return False
    one_way = max(np.mean(steps > 0), np.mean(steps < 0))
    usual = np.median(np.abs(steps))
    even = np.mean((np.abs(steps) <= 4 * usual) & (4 * np.abs(steps) >= usual))
    return bool(one_way >= 0.9 or (usual > 0 and even >= 0.95 and len(v) >= 3 * SURE))


def is_label(v: NDArray, rest: NDArray) -> bool:
    """Whether a first column without a name is no data: it alone rises or falls, unlike the others."""
    if len(v) < SURE or not monotonic(v):
        return False
    rising = np.mean([monotonic(column) for column in rest[:, :20].T])
    return bool(rising <= 0.2 and (is_even(v) or stands_out(v, rest)))


def other_axis(v: NDArray, rest: NDArray) -> int | None:
    """Which of the columns beside an axis is one, too: the same, or as even; None where none is."""
    if len(v) < 2 * SURE:
        return None
    columns = [rest[:, j] for j in range(min(rest.shape[1], MOST))]
    even = [j for j, c in enumerate(columns) if is_even(c)]
    sure = [j for j in even if in_spectral_range(columns[j])]
    found = [j for j, c in enumerate(columns) if np.array_equal(c, v)] or sure
    return next(iter(found or (even if 2 * len(even) <= len(columns) else [])), None)


def stands_out(v: NDArray, rest: NDArray) -> bool:
    """Whether numbers differ from their neighbours by far more than these from each other."""
    if rest.shape[1] < 2:
        return False
    step = np.median(np.abs(v - rest[:, 0]))
    usual = np.median(np.abs(np.diff(rest[:, :20], axis=1)))
    return bool(step > 10 * usual)


def smoothness(Y: NDArray) -> Points:
    """Points for channels being along the rows of Y, below 0 where they seem to be down its columns.

    Spectra are smooth along their axis; so may be a reaction along time. Where one direction alone is
    smooth, it is the axis; where both are, the one along which there are more bands may be it. A reading
    gets these points and the one that is turned loses them, so that they count twice.
    """
    points = _smoother(_whole(Y))
    return [(points, "spectra are smooth along it" if points > 0 else "")]


def _whole(Y: NDArray) -> NDArray:
    """Rows with straight lines over what is missing of them."""
    holes = np.isnan(Y)
    if not holes.any():
        return Y
    Y, places = Y.copy(), np.arange(Y.shape[1])
    for row, gone in zip(Y, holes, strict=True):
        row[gone] = 0 if gone.all() else np.interp(places[gone], places[~gone], row[~gone])
    return Y


def _smoother(Y: NDArray) -> float:
    along, down = _some(Y.T), _some(Y)
    if min(Y.shape) < FEW:
        return _of_few(Y)
    rough = _roughness(along), _roughness(down)
    if min(rough) < SMOOTH and max(rough) > ROUGH:
        return SMOOTHER if rough[0] < rough[1] else -SMOOTHER
    bands = _bands(along), _bands(down)
    if max(rough) < SMOOTH and max(bands) >= 2 * min(bands) + 1:
        return 0.5 if bands[0] > bands[1] else -0.5
    return 0.0


def _of_few(Y: NDArray) -> float:
    """The same for a few long profiles, of which there are not enough to look across them."""
    m, n = Y.shape
    if max(m, n) < 4 * SHORTEST_AXIS or _roughness(_some(Y.T if n > m else Y)) > SMOOTH / 2:
        return 0.0
    return 0.75 if n > m else -0.75


def _some(values: NDArray) -> NDArray:
    """Columns of a table, not too many of them."""
    return np.asarray(values[:, :: max(1, values.shape[1] // MOST)], dtype=float)


def _roughness(profiles: NDArray) -> float:
    """Mean squared step down the columns, 1 for numbers in random order."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = 2 * np.sum((profiles - profiles.mean(axis=0)) ** 2, axis=0)
        steps = np.sum(np.diff(profiles, axis=0) ** 2, axis=0)
    good = spread > 0
    return float(np.median(steps[good] / spread[good])) if good.any() else 1.0


def _bands(profiles: NDArray) -> float:
    """How many maxima a profile has, that stand out by a fifth of its height, on average."""
    size = max(1, len(profiles) // POINTS)
    short = profiles[: len(profiles) // size * size, :40]
    means = short.reshape(-1, size, short.shape[1]).mean(axis=1)
    return float(np.mean([_maxima(column) for column in means.T]))


def _maxima(profile: NDArray) -> int:
    """How often numbers rise by a fifth of their range, and fall as much again or end."""
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
