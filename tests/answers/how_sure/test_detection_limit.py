"""How little of a substance would have been seen: near what theory says, and in the same units."""

import numpy as np
import pytest

import ngmca
from ngmca.answers.how_sure import detection_limit as module

N, M = 60, 16


def peaks(*places):
    return np.exp(-0.5 * ((np.arange(N) - np.array(places)[:, None]) / 1.5) ** 2).sum(axis=0)


S = np.stack([peaks(8, 30), peaks(18, 38)])
NEW = peaks(50)


def mixture(noise):
    rng = np.random.default_rng(0)
    Y = (0.1 + rng.random((M, 2))) @ S + noise * rng.standard_normal((M, N))
    return Y, ngmca.separate(Y, 2, domain="direct", n_init=1)


def signal_to_noise(limit, noise):
    """Of the spectrum in the eight measurements together."""
    return limit.amount * np.linalg.norm(NEW) * np.sqrt(M / 2) / noise


def test_the_limit_is_where_theory_says():
    """A known line can be seen above 3.3 standard deviations (Currie). A line that must be found first,
    with a correlation of 0.9, needs at most what a mean over the measurements without any sparsity does.
    """
    Y, separation = mixture(0.02)
    limit = ngmca.detection_limit(Y, separation, NEW, name="acetone", tries=4)
    assert 3.3 < signal_to_noise(limit, 0.02) < 2.06 * np.sqrt(2 * N)
    assert limit.height == pytest.approx(limit.amount * NEW.max())
    assert limit.percent == pytest.approx(100 * limit.amount * NEW.sum() / (Y.sum() / M), rel=0.1)
    assert f"{limit.percent:.2g} % of acetone would have been seen" in limit.words
    assert len(limit.tried) == len(limit.found) == 4
    assert limit.found[limit.tried == limit.amount] == 1
    again = ngmca.detection_limit(Y, separation, 10 * NEW, tries=4)  # in another unit
    assert again.height == pytest.approx(limit.height)
    assert again.amount == pytest.approx(limit.amount / 10)


def test_more_noise_hides_more(monkeypatch):
    monkeypatch.setattr(module, "STEPS", 12)
    low, high = (ngmca.detection_limit(*mixture(noise), NEW, tries=2).height for noise in (0.01, 0.08))
    assert 3 < high / low < 20  # the noise is eight times as large


def test_a_spectrum_that_is_never_found(monkeypatch):
    """Between two sources there is no third one."""
    Y, separation = mixture(0.02)
    monkeypatch.setattr(module, "STEPS", 3)
    limit = ngmca.detection_limit(Y, separation, S.sum(axis=0), tries=2)
    assert limit.amount == np.inf
    assert "Nothing can be said" in repr(limit)


def test_what_is_refused():
    Y, separation = mixture(0.02)
    with pytest.raises(ValueError, match=r"resembles source [12] \(correlation"):
        ngmca.detection_limit(Y, separation, S[0])
    with pytest.raises(ValueError, match="one finite number for each of the 60 channels"):
        ngmca.detection_limit(Y, separation, NEW[:-1])
    with pytest.raises(ValueError, match="must not be negative"):
        ngmca.detection_limit(Y, separation, -NEW)
    with pytest.raises(ValueError, match="part must be above 0 and below 1"):
        ngmca.detection_limit(Y, separation, NEW, part=1.0)
    with pytest.raises(ValueError, match="shape 5 x 60"):
        ngmca.detection_limit(Y[:5], separation, NEW)
