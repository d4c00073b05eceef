"""Sources that are images: wavelets in two dimensions, and when they are taken."""

from functools import cache

import numpy as np
import pytest
from task_options import records

import ngmca
from ngmca.algorithms.wavelets.domain_choice import code, correlation

H, W = SHAPE = (40, 48)


def blobs(rng):
    y, x = np.mgrid[:H, :W]
    out = np.zeros(SHAPE)
    for _ in range(6):
        a, b = rng.uniform(2, 6, 2)
        out += rng.uniform(0.3, 1) * np.exp(
            -0.5 * (((y - rng.uniform(0, H)) / a) ** 2 + ((x - rng.uniform(0, W)) / b) ** 2)
        )
    return out


@cache
def scene(seed=0, m=16, r=3, snr=30.0):
    rng = np.random.default_rng(seed)
    S = np.stack([blobs(rng).ravel() for _ in range(r)])
    A = np.abs(rng.standard_normal((m, r)))
    X = A @ S
    noise = rng.standard_normal(X.shape)
    return S, X + noise * 10 ** (-snr / 20) * np.linalg.norm(X) / np.linalg.norm(noise)


def sdr(S, found):
    return ngmca.evaluate(S, found.S).mean_sdr


def test_smooth_images_are_found_far_better_than_by_rows_or_pixels():
    gains = []
    for seed in range(1):
        S, Y = scene(seed)
        pixels = ngmca.separate(Y, 3, domain="direct", n_init=1)
        rows = ngmca.separate(Y, 3, domain="wavelet", n_init=1)
        images = ngmca.separate(Y, 3, sample_shape=SHAPE, n_init=1)
        assert images.domain.name == "wavelet"
        assert images.violation < 1e-3
        assert (images.S >= 0).all()
        gains.append((sdr(S, images) - sdr(S, pixels), sdr(S, images) - sdr(S, rows)))
    over_pixels, over_rows = np.mean(gains, axis=0)
    assert over_pixels > 4
    assert over_rows > 2


def test_turned_images_are_found_as_well():
    """Rows and columns are treated alike: a shape in the wrong order is a wrong shape, and tells."""
    S, Y = scene()
    turn = np.arange(H * W).reshape(SHAPE).T.ravel()
    straight = sdr(S, ngmca.separate(Y, 3, sample_shape=SHAPE, n_init=1))
    turned = ngmca.separate(Y[:, turn], 3, sample_shape=(W, H), n_init=1)
    wrong = ngmca.separate(Y, 3, sample_shape=(W, H), domain="wavelet", n_init=1)
    assert sdr(S[:, turn], turned) > straight - 1.5
    assert sdr(S, wrong) < straight - 1.5


def test_pixels_without_an_order_are_no_image():
    _, Y = scene()
    order = np.random.default_rng(0).permutation(H * W)
    found = ngmca.separate(Y[:, order], 3, sample_shape=SHAPE, n_init=1)
    assert found.domain.name == "direct"
    assert abs(found.domain.correlation) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_stripes_are_no_image(seed):
    """Alike along one direction, without an order along the other."""
    rng = np.random.default_rng(seed)
    S = np.repeat(rng.random((3, 1, W)) * (rng.random((3, 1, W)) < 0.4), H, axis=1).reshape(3, -1)
    Y = rng.random((16, 3)) @ S + 0.02 * rng.standard_normal((16, H * W))
    assert correlation(S, SHAPE) < 0.2
    assert ngmca.separate(Y, 3, sample_shape=SHAPE, n_init=1).domain.name == "direct"


def test_images_are_seen_through_noise():
    S, Y = scene(snr=10.0)
    found = ngmca.separate(Y, 3, sample_shape=SHAPE, n_init=1)
    assert found.domain.name == "wavelet"
    assert sdr(S, found) > sdr(S, ngmca.separate(Y, 3, domain="direct", n_init=1)) + 2


def test_images_are_shorter_in_two_dimensions():
    S, _ = scene()
    level = np.full(3, 0.02)
    assert code(S, level, SHAPE) < 0.7 * code(S, level)


def test_the_same_bits_whatever_the_threads():
    _, Y = scene()
    options = {"seed": 0, "n_iter": 10, "sample_shape": SHAPE, "domain": "wavelet"}
    one, two = (ngmca.separate(Y, 3, threads=t, **records(**options)) for t in (1, 2))
    np.testing.assert_array_equal(one.S, two.S)
    np.testing.assert_array_equal(one.A, two.A)


@pytest.mark.parametrize("shape", [(1, 90), (90, 1), (9, 10)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thin_and_small_images_stay_finite(shape, dtype):
    Y = np.abs(np.random.default_rng(0).standard_normal((6, 90))).astype(dtype)
    found = ngmca.separate(
        Y, 2, method=ngmca.Soft(n_iter=20), sample_shape=shape, domain="wavelet", n_init=1
    )
    assert np.isfinite(found.S).all()
    assert found.S.dtype == dtype
