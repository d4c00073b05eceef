"""Arrays of any shape, type and content, any method: a valid separation, or a `ValueError`."""

import json
import re
from contextlib import contextmanager
from inspect import signature

import numpy as np
from outcome import ACCEPTED, ERROR, expect
from task_options import METHODS as RECORDS
from task_options import records

import ngmca
from ngmca import rivals
from ngmca.algorithms.wavelets import wavelet_data
from ngmca.engines import Levels
from ngmca.nnqp import violation
from ngmca.task.methods import OWN_METHODS as METHODS
from ngmca.task.task import DOMAINS

KINDS = ("noise", "mixture", "bands", "zero", "constant", "rank one", "duplicates", "spike", "negative",
         "heavy tails", "empty rows", "wide range", "tiny part")  # fmt: skip
TYPES = ("f4", "f8", "f8", "f8", ">f8", ">f4", "f2", "i1", "i8", "u2", "?")
EXACT = {"f4": 1e-3, "f8": 1e-8}  # largest violation of an exact step


def case(rng, folder):
    """Separate random data by a random method."""
    Y, r = _data(rng)
    options = _options(rng, Y)
    np.save(folder / "Y.npy", Y)
    used = {"r": r, **options, "order": str(Y.flags.f_contiguous), "strides": str(Y.strides)}
    (folder / "options.json").write_text(json.dumps(used))
    before = Y.copy()
    Y.setflags(write=False)
    try:
        with _levels_of_second_fit() as levels, precision_of_wavelets(rng):
            found = ngmca.separate(Y, r, threads=_threads(options), **records(seed=0, **options))
    except (ValueError, TypeError) as error:
        return check_message(error)
    expect(np.array_equal(Y, before, equal_nan=Y.dtype.kind == "f"), "the data were changed")
    _check_factors(found, Y, r, options)
    _check_exact(found, Y, options, levels)
    if found.posterior is not None:
        _check_posterior(found.posterior, Y, r)
    return ACCEPTED


def prepare():
    """Compile everything that a case may need; without a cache this takes minutes."""
    Y = ngmca.simulate.bands(8, 72, 2, bands=2, fwhm=(4.0, 9.0), snr=20, seed=0).Y
    for data in (Y, np.asfortranarray(Y), Y.astype("f4"), np.asfortranarray(Y.astype("f4"))):
        for method in (*METHODS, *rivals.METHODS):
            ngmca.separate(data, 2, method=method, seed=0)
        for options in ({"solver": "fista"}, {"domain": "wavelet"}, {"sample_shape": (8, 9)}):
            found = ngmca.separate(data, 2, **records(seed=0, n_iter=4, **options))
            ngmca.posterior(data, found, n_samples=4, burn=2, seed=0)


@contextmanager
def _levels_of_second_fit():
    """Yield a list of the noise levels for which a second fit is made: the result does not hold them."""
    levels, of_rows = [], Levels.of_rows

    def noted(given):
        levels.append(given)
        return of_rows(given)

    Levels.of_rows = noted
    try:
        yield levels
    finally:
        Levels.of_rows = of_rows


@contextmanager
def precision_of_wavelets(rng):
    """Let wavelets work in single precision in half of the cases, as they do for large data."""
    before = wavelet_data.SMALL
    wavelet_data.SMALL = before if rng.random() < 0.5 else 0
    try:
        yield
    finally:
        wavelet_data.SMALL = before


def _threads(options):
    return None if options["method"] in rivals.METHODS else 1


def _data(rng):
    """Return a random array and a number of sources."""
    m, n = (int(size) for size in rng.integers(1, 61, size=2))
    Y = _content(KINDS[rng.integers(len(KINDS))], m, n, rng)
    if rng.random() < 0.3:
        with np.errstate(over="ignore"):
            Y = Y * 2.0 ** int(rng.choice([-1000, -1060, -500, -130, -60, 60, 120, 500, 1000]))
    if rng.random() < 0.1:
        Y.flat[rng.integers(Y.size)] = rng.choice([np.nan, np.inf, 1.7e308, 5e-324, -1e300])
    if rng.random() < 0.1:
        Y[rng.random(Y.shape) < rng.choice([0.02, 0.3, 0.8])] = np.nan
    with np.errstate(all="ignore"):
        Y = np.nan_to_num(Y, nan=np.nan, posinf=np.inf, neginf=-np.inf).astype(rng.choice(TYPES))
    match rng.integers(4):
        case 0:
            Y = np.asfortranarray(Y)
        case 1:
            Y = np.repeat(np.repeat(Y, 2, axis=0), 3, axis=1)[::2, ::-3]
    most = 8 if rng.random() < 0.1 else min(8, n)
    return Y, int(rng.integers(1, most + 1))


def _content(kind, m, n, rng):
    Y = rng.standard_normal((m, n))
    match kind:
        case "mixture":
            Y = rng.random((m, 3)) @ (rng.random((3, n)) * (rng.random((3, n)) < 0.3)) + 0.01 * Y
        case "bands":
            x = np.arange(n)
            peaks = np.exp(-(((x - rng.integers(n, size=(3, 1))) / 4.0) ** 2))
            Y = rng.random((m, 3)) @ peaks + rng.choice([0.0, 0.01]) * Y
        case "zero":
            Y = np.zeros((m, n))
        case "constant":
            Y = np.full((m, n), rng.choice([1.0, -1.0, 1e-3, 7e5]))
        case "rank one":
            Y = np.outer(rng.random(m), rng.random(n))
        case "duplicates":
            Y = Y[rng.integers(min(m, 2), size=m)]
        case "spike":
            Y = np.zeros((m, n))
            Y[rng.integers(m), rng.integers(n)] = rng.choice([1.0, -1.0, 1e-300])
        case "negative":
            Y = -np.abs(Y)
        case "heavy tails":
            Y = rng.standard_cauchy((m, n)) ** 3
        case "empty rows":
            Y = Y * (rng.random((m, 1)) < 0.5) * (rng.random((1, n)) < 0.5)
        case "wide range":
            Y = 10.0 ** rng.uniform(-12, 12, (m, n))
        case "tiny part":
            Y[rng.random((m, n)) < 0.5] *= 1e-300
    return Y


def _options(rng, Y):
    """Return a method and its options, sometimes with one that it does not support."""
    method = str(rng.choice((*METHODS, *METHODS, *rivals.METHODS)))
    drawn = {
        "n_iter": int(rng.integers(1, 40)),
        "tau": float(rng.choice([0.0, 0.5, 2.0, 1e5])),
        "noise": float(rng.choice([0.0, 1e-3, 1.0])),
        "domain": str(rng.choice(DOMAINS)),
        "n_init": 2,
        "solver": "fista",
        "bounded": False,
        "refinement": float(rng.choice([0.0, 0.5, 1.0])),
        "tol": float(rng.choice([0.0, 1e-3])),
        "posterior": True,
    }
    if Y.shape[1] % 6 == 0:
        drawn["sample_shape"] = (6, Y.shape[1] // 6)
    chances = {"n_iter": 0.8, "posterior": 0.05}
    options = {name: value for name, value in drawn.items() if rng.random() < chances.get(name, 0.3)}
    if rng.random() < 0.95:
        options = {name: value for name, value in options.items() if _is_supported(name, method)}
    if options.get("tau") == 0 and rng.random() < 0.95:
        options.pop("domain", None)
    return {"method": method, **options}


def _is_supported(name, method):
    if name in ("noise", "n_init", "posterior"):
        return name != "posterior" or method not in rivals.SIGNED
    if method in rivals.METHODS:
        return name in signature(rivals.METHODS[method]).parameters
    if name in ("domain", "sample_shape"):
        return method == "soft"
    return name in signature(RECORDS[method]).parameters


def check_message(error):
    """Return the outcome for an error, which must be one sentence of this library."""
    text = str(error)
    sentence = len(text.splitlines()) == 1 and text.rstrip().endswith((".", ")", "'"))
    expect(sentence, f"not a sentence: {text!r}")
    foreign = re.search(r"broadcast|operand|array must not|SVD|singular", text)
    expect(not foreign, f"an error of another library: {text!r}")
    return ERROR


def _check_factors(found, Y, r, options):
    m, n = Y.shape
    kind = np.float32 if Y.dtype.newbyteorder("=") == np.float32 else np.float64
    expect(found.A.shape == (m, r) and found.S.shape == (r, n), f"A {found.A.shape}, S {found.S.shape}")
    expect(found.A.dtype == found.S.dtype == kind, f"A {found.A.dtype}, S {found.S.dtype}, Y {Y.dtype}")
    for name in ("A", "S", "noise"):
        expect(np.isfinite(getattr(found, name)).all(), f"{name} is not finite")
    expect((found.noise >= 0).all() and found.noise.shape == (m,), "noise is negative")
    if options["method"] not in rivals.SIGNED:
        expect((found.A >= 0).all() and (found.S >= 0).all(), "a factor is negative")
    norms = np.linalg.norm(found.A.astype(float), axis=0)
    expect(np.allclose(norms, 1, rtol=0, atol=1e-4), f"columns of A have norms {norms}")
    expect(len(found.history.cost) == found.n_iter >= 1, "the history has another length")
    expect(not np.isnan(found.history.cost).any(), "a cost is NaN")
    if options["method"] in METHODS:
        expect(np.isfinite(found.lam).all() and (found.lam >= 0).all(), f"thresholds {found.lam}")


def _check_exact(found, Y, options, levels):
    """Check that `soft` without wavelets and `anls` give the exact minimum S for A.

    With the automatic schedule, measurements may count by their noise, and thresholds are `lam` where S
    was 0 and between 0 and `lam` elsewhere.
    """
    exact = options["method"] in ("soft", "anls") and options.get("solver") != "fista"
    if not exact or found.domain.name != "direct":
        return
    most = EXACT["f4" if found.S.dtype == np.float32 else "f8"]
    expect(found.violation <= most, f"the violation is {found.violation:.1e} ({found.S.dtype})")
    Y, S, A = (array.astype(float) for array in (Y, found.S, found.A))
    complete = np.isfinite(Y).all(axis=0)
    Y = np.where(complete, Y, 0)
    large = np.abs(Y).max(axis=0) > 1e9 * np.finfo(found.S.dtype).tiny  # smaller numbers lose digits
    power = np.frexp(np.abs(Y).max() or 1.0)[1]
    Y, S, lam = (np.ldexp(array, -power)[:, large] for array in (Y, S, found.lam[:, None] + 0 * S))
    true = min(_violation(Y, A, S, lam, one, options) for one in levels or [np.ones(len(Y))])
    expect(true <= 10 * most, f"the violation is {true:.1e} and reported as {found.violation:.1e}")


def _violation(Y, A, S, lam, levels, options):
    """Return the violation of the optimality conditions of S for noise levels of the measurements."""
    logs = np.log(levels)
    weighted = A.T * np.exp(2 * (logs.mean() - logs))
    G, C = weighted @ A, weighted @ Y
    if options["method"] == "soft" and "n_iter" not in options:
        lam = np.where(S > 0, np.clip(C - G @ S, 0, lam), lam)
    return violation(G, C - lam, S)


def _check_posterior(posterior, Y, r):
    expect(posterior.S.mean.shape == (r, Y.shape[1]), "the posterior has another shape")
    for part in (posterior.S, posterior.A, posterior.noise):
        expect(np.isfinite(part.mean).all() and (part.mean >= 0).all(), "a posterior mean is not finite")
        spread = part.sd[np.isfinite(part.sd)] if np.isnan(Y).any() else part.sd  # NaN: not observed
        expect(np.isfinite(spread).all() and (spread >= 0).all(), "a posterior spread is not finite")
        low, high = part.interval(0.9)
        expect(
            (low <= high).all() and (low >= 0).all(),
            "an interval ends before it starts",
        )
