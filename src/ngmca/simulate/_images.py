"""Mixtures of images, as from a camera with many wavelengths."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca._support import arguments
from ngmca._support.messages import ArgumentError, option
from ngmca._support.seeds import Seed
from ngmca.simulate._sparse import modulus
from ngmca.simulate.mixture import Mixture, checked, mix, simulator

KINDS = ("blobs", "filaments", "edges")
SHAPES_PER_IMAGE = {"blobs": 8, "filaments": 4, "edges": 6}


@simulator
def images(
    m: int = 32,
    shape: Sequence[int] = (128, 128),
    r: int = 4,
    *,
    snr: float | None = None,
    seed: Seed = None,
) -> Mixture:
    """Simulate measurements of images, whose pixels are the channels, row after row.

    The sources are in turn smooth blobs, filaments and patches with sharp edges, on a background of 0,
    each with norm 1. The entries of A are absolute values of unit Gaussians, as in `sparse`.

    Parameters
    ----------
    m : int
        Number of measurements.
    shape : (int, int)
        Rows and columns of the images, at least 8 each. `Mixture.sample_shape` holds it for `separate`.
    r : int
        Number of images.
    {noise}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> import ngmca
    >>> ngmca.simulate.images(m=4, shape=(8, 12), r=3, seed=0).Y.shape
    (4, 96)
    """
    rng = checked(snr, seed, m=m, r=r)
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise ArgumentError(
            "{} must be two numbers of pixels, such as (128, 128), got {!r}.", option("shape"), shape
        )
    h, w = (arguments.check_count(side, "shape", low=8) for side in shape)
    y, x = np.mgrid[0:h, 0:w].astype(float)
    S = np.stack([_image(rng, KINDS[i % len(KINDS)], y / h, x / w).ravel() for i in range(r)])
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    A = modulus(rng, (m, r), 1.0, 2.0)
    return replace(mix(A, S, snr, rng), sample_shape=(h, w))


def _image(rng: np.random.Generator, kind: str, y: NDArray, x: NDArray) -> NDArray:
    """Return an image of one kind, for positions between 0 and 1."""
    draw = {"blobs": _blob, "filaments": _filament, "edges": _patch}[kind]
    return np.asarray(
        sum(rng.uniform(0.3, 1.0) * draw(rng, y, x) for _ in range(SHAPES_PER_IMAGE[kind]))
    )


def _blob(rng: np.random.Generator, y: NDArray, x: NDArray) -> NDArray:
    """Return an elongated Gaussian whose tails are cut to 0."""
    (v, u), angle = rng.uniform(0.1, 0.9, 2), rng.uniform(0, np.pi)
    long, wide = rng.uniform(0.03, 0.1), rng.uniform(0.02, 0.05)
    along = (y - v) * np.sin(angle) + (x - u) * np.cos(angle)
    across = (y - v) * np.cos(angle) - (x - u) * np.sin(angle)
    return np.maximum(np.exp(-((along / long) ** 2 + (across / wide) ** 2) / 2) - 0.01, 0)


def _filament(rng: np.random.Generator, y: NDArray, x: NDArray) -> NDArray:
    """Return a curved line, a few pixels wide."""
    place, angle, bend = rng.uniform(0.2, 0.8, 2), rng.uniform(0, 2 * np.pi), rng.uniform(-6, 6)
    t = np.linspace(0, rng.uniform(0.4, 0.9), 400)
    direction = angle + bend * t
    step = t[1] - t[0]
    v = place[0] + step * np.cumsum(np.sin(direction))
    u = place[1] + step * np.cumsum(np.cos(direction))
    inside = (v >= 0) & (v < 1) & (u >= 0) & (u < 1)
    drawn = np.zeros(y.shape)
    h, w = y.shape
    drawn[(v[inside] * h).astype(int), (u[inside] * w).astype(int)] = 1.0
    from scipy.ndimage import gaussian_filter  # slow to import

    blurred = np.asarray(gaussian_filter(drawn, 1.2, mode="constant"))
    return blurred / blurred.max()


def _patch(rng: np.random.Generator, y: NDArray, x: NDArray) -> NDArray:
    """Return a disc or a rectangle."""
    (v, u), (tall, wide) = rng.uniform(0.1, 0.9, 2), rng.uniform(0.05, 0.2, 2)
    if rng.random() < 0.5:
        return ((y - v) ** 2 + (x - u) ** 2 < tall**2).astype(float)
    return ((np.abs(y - v) < tall) & (np.abs(x - u) < wide)).astype(float)
