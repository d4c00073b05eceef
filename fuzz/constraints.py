"""Constraints together, some of which contradict each other: all of them hold, or a `ValueError`."""

import json

import numpy as np
from arrays import check_message, precision_of_wavelets
from outcome import ACCEPTED, expect

import ngmca

FAR_FROM_LAW = 0.01  # distance of directions: rate constants near 0 cannot be read back from profiles
TOLERANCE = 1e-6  # of a constraint, relative to the numbers in it
SUM_TOLERANCE = 1e-4  # of a sum beside shapes, whose method stops after a number of steps
SHAPES = ("unimodal", "increasing", "decreasing")


def prepare():
    """Compile the steps with constraints."""
    x = ngmca.simulate.sparse(m=8, n=30, r=2, snr=30, seed=0)
    for one in (ngmca.Closure(), ngmca.Unimodal(), ngmca.KnownMixing(x.A[:, :1]), ngmca.Baseline()):
        ngmca.separate(x.Y, 2, method=ngmca.Soft(n_iter=4), constraints=[one], n_init=1)


def case(rng, folder):
    """Separate a mixture with random constraints, right ones and wrong ones."""
    m, n, r = (int(rng.integers(low, high)) for low, high in ((3, 25), (6, 60), (1, 5)))
    parts = int(rng.integers(2, 4)) if rng.random() < 0.15 else 1
    m *= parts
    truth = ngmca.simulate.sparse(m=m, n=n, r=r, snr=20, seed=int(rng.integers(1 << 30)))
    A = np.sort(truth.A, axis=0) if rng.random() < 0.3 else truth.A
    Y = (A @ truth.S + 0.01 * rng.standard_normal((m, n))) * 2.0 ** int(rng.choice([0, 0, -300, 200]))
    if rng.random() < 0.15:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    wanted = int(rng.choice([r, r, r + 1, max(1, r - 1)]))
    described, constraints = zip(*_drawn(rng, A, truth.S, wanted), strict=True)
    options = _options(rng)
    np.savez(folder / "data.npz", Y=Y, A=A, S=truth.S)
    what = {"r": wanted, "constraints": described, **{k: str(v) for k, v in options.items()}}
    (folder / "options.json").write_text(json.dumps(what))
    try:
        built = [make() for make in constraints]
        with precision_of_wavelets(rng):
            data = Y if parts == 1 else np.split(Y, parts)
            found = ngmca.separate(data, wanted, constraints=built, n_init=1, seed=0, **options)
    except (ValueError, TypeError) as error:
        return check_message(error)
    for name in ("A", "S", "noise"):
        expect(np.isfinite(getattr(found, name)).all(), f"{name} is not finite")
    expect((found.A >= 0).all() and (found.S >= 0).all(), "a factor is negative")
    laws = [one.modelled(m, wanted) for one in built if isinstance(one, ngmca.Kinetics)]
    modelled = np.any([np.zeros(wanted, dtype=bool), *laws], axis=0)
    for one in built:
        _check(one, found, m, n, wanted, parts, modelled)
    return ACCEPTED


def _options(rng):
    """Return a method, and sometimes an option that some constraints exclude."""
    method = ngmca.Soft(n_iter=int(rng.integers(2, 15)))
    others = (ngmca.Hard(n_iter=6), ngmca.Naive(n_iter=6), ngmca.Anls(n_iter=6))
    options = {"method": method if rng.random() < 0.7 else others[rng.integers(3)]}
    if rng.random() < 0.3:
        name = str(rng.choice(["robust", "domain", "noise", "posterior"]))
        values = {"robust": True, "domain": "wavelet", "noise": "poisson", "posterior": True}
        options[name] = values[name]
    return options


def _drawn(rng, A, S, r):
    """Return up to three constraints, as words and as functions that build them."""
    makers = (_known_sources, _known_mixing, _closure, _shape, _zeros, _baseline, _kinetics, _trilinear)
    chosen = rng.choice(len(makers), size=int(rng.integers(1, 4)), replace=rng.random() < 0.1)
    return [makers[k](rng, A, S, r) for k in chosen]


def _known_sources(rng, A, S, r):
    k = int(rng.integers(1, len(S) + 2))
    rows = np.resize(S, (k, S.shape[1])) * 2.0 ** int(rng.choice([0, 0, 0, 500, -900]))
    rows = np.where(rng.random(rows.shape) < rng.choice([0.0, 0.0, 0.3]), np.nan, rows)
    scale = str(rng.choice(["fixed", "free"]))
    sources = rng.permutation(r + 1)[:k].tolist() if rng.random() < 0.3 else None
    return f"KnownSources {k} {scale} {sources}", lambda: ngmca.KnownSources(rows, scale, sources)


def _known_mixing(rng, A, S, r):
    k = int(rng.integers(1, A.shape[1] + 1))
    columns = A[:, :k] * rng.choice([1.0, 1.0, 0.0, 1e6])
    columns = np.where(rng.random(columns.shape) < rng.choice([0.0, 0.5]), np.nan, columns)
    sd = 0.1 if rng.random() < 0.2 else None
    return f"KnownMixing {k} sd {sd}", lambda: ngmca.KnownMixing(columns, sd=sd)


def _closure(rng, A, S, r):
    total = float(rng.choice([1.0, 100.0, 1e-9, 0.0, -1.0])) if rng.random() < 0.7 else A.sum(axis=1)
    kind = str(rng.choice(["equal", "equal", "at most", "at least"]))
    sources = [0, int(rng.integers(0, r + 1))] if rng.random() < 0.2 else None
    words = f"Closure {np.ndim(total)} {kind} {sources}"
    return words, lambda: ngmca.Closure(total, kind, sources)


def _shape(rng, A, S, r):
    shape = str(rng.choice(SHAPES))
    sources = rng.permutation(r + 1)[: int(rng.integers(1, 3))].tolist() if rng.random() < 0.4 else None
    if shape == "unimodal":
        return f"Unimodal {sources}", lambda: ngmca.Unimodal(sources)
    return f"Monotonic {shape} {sources}", lambda: ngmca.Monotonic(shape, sources)


def _zeros(rng, A, S, r):
    rows = bool(rng.random() < 0.5)
    shape = (r, S.shape[1]) if rows else (len(A), r)
    zero = rng.random(shape) < rng.choice([0.1, 0.5, 1.0])
    kind = ngmca.ZeroSources if rows else ngmca.ZeroMixing
    return kind.__name__, lambda: kind(zero)


def _baseline(rng, A, S, r):
    kind = str(rng.choice(["splines", "constant", "polynomials", "auto"]))
    return f"Baseline {kind}", lambda: ngmca.Baseline(kind)


def _kinetics(rng, A, S, r):
    law = str(rng.choice(["A -> B", "A -> B -> C", "A <-> B", "A + B -> C", "2 A -> B"]))
    sources = [None if k > r else k for k in rng.permutation(r + 1).tolist()][: law.count(">") + 1]
    sources = sources if rng.random() < 0.3 else None
    times = np.sort(10.0 ** int(rng.choice([0, 0, -9, 6])) * rng.random(len(A)))
    words = f"Kinetics {law} {sources}"
    return words, lambda: ngmca.Kinetics(law, times=times, sources=sources)


def _trilinear(rng, A, S, r):
    sources = rng.permutation(r + 1)[: int(rng.integers(1, 3))].tolist() if rng.random() < 0.4 else None
    return f"Trilinear {sources}", lambda: ngmca.Trilinear(sources)


def _check(one, found, m, n, r, parts, modelled):
    """Check that a constraint holds for what was found; `modelled` (r,) sources follow a rate law."""
    if isinstance(one, ngmca.KnownSources) and one.scale == "fixed":
        rows = one.rows(r, n)
        known = ~np.isnan(rows)
        expect(_near(found.S[known], rows[known]), "a known source was changed")
    elif isinstance(one, ngmca.KnownMixing) and one.sd is None:
        columns = one.columns(m, r)
        known = ~np.isnan(columns)
        expect(_near(found.A[known], columns[known]), "a known amount was changed")
    elif isinstance(one, ngmca.Closure):
        _check_sums(one, found, m)
    elif isinstance(one, ngmca.Unimodal | ngmca.Monotonic):
        for k in np.flatnonzero(~modelled) if one.sources is None else one.sources:
            for part in np.split(found.A[:, k], parts):
                _check_profile(part, getattr(one, "direction", "unimodal"))
    elif isinstance(one, ngmca.Kinetics):
        model = one.model(m, r, np.ones(m))
        columns = list(model.columns)
        expect(np.isfinite(found.rates.values).all(), f"rate constants {found.rates.values}")
        _, far = model.nearest(found.A[:, columns])
        exact = _near(found.A[:, columns], model.profiles(found.rates.values))
        expect(exact or far <= FAR_FROM_LAW, f"columns {columns} are {far:.2g} away from the rate law")
    elif isinstance(one, ngmca.Trilinear):
        for k in range(r) if one.sources is None else one.sources:
            values = np.linalg.svd(found.A[:, k].reshape(parts, -1), compute_uv=False)
            expect(values[1] <= 1e-4 * values[0], f"profiles of source {k} differ: {values}")


def _check_sums(one, found, m):
    chosen = slice(None) if one.sources is None else sorted(set(one.sources))
    sums, totals = found.A[:, chosen].sum(axis=1), one.totals_of(one.totals, m)
    slack = SUM_TOLERANCE * np.maximum(totals, sums)
    above, below = (sums > totals + slack).any(), (sums < totals - slack).any()
    expect(not (above and one.kind != "at least"), f"a row of A sums to more than its total: {sums}")
    expect(not (below and one.kind != "at most"), f"a row of A sums to less than its total: {sums}")


def _check_profile(column, shape):
    steps = np.diff(column)
    slack = TOLERANCE * float(np.abs(column).max(initial=0))
    top = {"increasing": len(column) - 1, "decreasing": 0}.get(shape, int(np.argmax(column)))
    expect((steps[:top] >= -slack).all(), f"a profile is not {shape}: it falls before its maximum")
    expect((steps[top:] <= slack).all(), f"a profile is not {shape}: it rises after its maximum")


def _near(found, given):
    size = np.abs(given).max(initial=0)
    return np.allclose(found, given, rtol=TOLERANCE, atol=TOLERANCE * size)
