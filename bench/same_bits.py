"""Record the answers of many settings to the bit, and compare them after a change.

python bench/same_bits.py record bits.json     # before the change
python bench/same_bits.py compare bits.json    # after it, on the same machine

A and S, thresholds, noise levels, costs and error bars of methods x domains x constraints x noise models x
engines are kept as digests, for 20 seeds. They depend on the machine and its BLAS.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import ngmca
from ngmca import (
    Anls,
    Baseline,
    Closure,
    Hard,
    KnownMixing,
    KnownSources,
    Monotonic,
    Naive,
    Rival,
    Soft,
    Unimodal,
    ZeroMixing,
    ZeroSources,
)
from ngmca.engines import open_data

SEEDS, SEEDS_WITH_BARS, SEEDS_ELSEWHERE = 20, 4, 10
Case = tuple[str, object, dict]


def bands(seed: int, m: int = 24, n: int = 160, r: int = 3) -> tuple:
    rng = np.random.default_rng(1000 + seed)
    x, S = np.linspace(0, 1, n), np.zeros((r, n))
    for k in range(r):
        for centre in rng.random(4):
            S[k] += rng.random() * np.exp(-0.5 * ((x - centre) / 0.015) ** 2)
    A = rng.random((m, r))
    clean = A @ S
    return clean + rng.standard_normal(clean.shape) * np.sqrt((clean**2).mean() / 300), A, S


def sparse(seed: int, m: int = 20, n: int = 96, r: int = 3) -> tuple:
    rng = np.random.default_rng(2000 + seed)
    S = rng.exponential(size=(r, n)) * (rng.random((r, n)) < 0.2)
    A = np.abs(rng.standard_normal((m, r)))
    return A @ S + 0.1 * rng.standard_normal((m, n)), A, S


def with_gaps(Y: np.ndarray, seed: int) -> np.ndarray:
    return np.where(np.random.default_rng(3000 + seed).random(Y.shape) < 0.15, np.nan, Y)


def with_spikes(Y: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Y = Y.copy()
    Y[rng.integers(0, len(Y), 5), rng.integers(0, Y.shape[1], 5)] += 30
    return Y


def counts(seed: int) -> np.ndarray:
    _, A, S = sparse(seed)
    return np.random.default_rng(seed).poisson(20 * A @ S).astype(float)


def methods(seed: int) -> Iterator[Case]:
    P, _, _ = sparse(seed)
    direct = {"domain": "direct"}
    yield "several starts", P, {"n_init": 5}
    for method in (Soft(n_iter=60), Hard(n_iter=60), Naive(n_iter=60), Anls(n_iter=60)):
        yield f"{method.name}", P, direct | {"method": method}
    for method in (Soft(n_iter=30, solver="fista"), Hard(n_iter=30, solver="fista"), Anls(30, "fista")):
        yield f"{method.name} by FISTA", P, direct | {"method": method}
    for name in ("hals", "als", "multiplicative", "gmca", "minvol", "sparse_hals"):
        yield name, P, {"method": Rival(name, n_iter=40)}
    yield "spa", P, {"method": "spa"}
    yield "tau 2", P, {"method": Soft(tau=2.0, n_iter=80, refinement=0.3)}
    yield "tau 0", P, {"method": Soft(tau=0.0, n_iter=80)}
    yield "unbounded", P, {"method": Soft(bounded=False, tol=1e-5)}
    yield "sparse mixing", P, {"method": Soft(penalised="A")}
    yield "both sparse", P, {"method": Soft(penalised="both")}
    yield "single precision", P.astype(np.float32), {}
    yield "tall", np.ascontiguousarray(P.T), direct
    yield "large numbers", P * 1e200, direct


def domains(seed: int) -> Iterator[Case]:
    L, _, S = bands(seed)
    short = Soft(n_iter=60)
    yield "bands", L, {}
    yield "bands, single precision", L.astype(np.float32), {"method": short}
    yield "wavelets", L, {"domain": "wavelet", "method": short}
    yield "images", L[:, :144], {"domain": "wavelet", "method": short, "sample_shape": (12, 12)}
    yield "bands with gaps", with_gaps(L, seed), {"method": short}
    yield "bands, noise of channels", L, {"method": short, "noise": np.linspace(0.05, 0.1, 160)}
    yield "bands, known source", L, {"method": short, "constraints": [KnownSources(S[:1])]}
    yield "bands, baseline", L + 0.1, {"method": short, "constraints": [Baseline("splines")]}


def noise_models(seed: int) -> Iterator[Case]:
    P, _, _ = sparse(seed)
    yield "gaps", with_gaps(P, seed), {}
    yield "gaps, anls", with_gaps(P, seed), {"method": Anls(60)}
    yield "mask", P, {"mask": np.isnan(with_gaps(P, seed))}
    yield "noise", P, {"noise": 0.1}
    yield "noise of measurements", P, {"noise": np.linspace(0.1, 0.3, 20)}
    yield "noise of channels", P, {"noise": np.linspace(0.1, 0.3, 96)[None]}
    yield "noise of entries", P, {"noise": 0.1 + 0.1 * np.random.default_rng(seed).random(P.shape)}
    yield "counts", counts(seed), {"noise": "poisson", "method": Soft(n_iter=60)}
    yield "spikes", with_spikes(sparse(seed, m=30)[0], seed), {"robust": True}
    yield "several data sets", [P[:10], P[10:]], {"noise": [0.1, 0.2]}


def constraints(seed: int) -> Iterator[Case]:
    P, A, S = sparse(seed)
    zero = np.zeros((20, 3), dtype=bool)
    zero[:5, 0] = True
    for name, given in {
        "known sources": [KnownSources(S[:1])],
        "known shapes": [KnownSources(S[:1], "free")],
        "known mixing": [KnownMixing(A[:, :2])],
        "zero sources": [ZeroSources(S == 0)],
        "zero mixing": [ZeroMixing(zero)],
        "closure": [Closure()],
        "totals": [Closure(np.linspace(1, 2, 20))],
        "closure and zeros": [Closure(), ZeroMixing(zero)],
        "closure and known sources": [Closure(), KnownSources(S[:1])],
        "unimodal": [Unimodal()],
        "profiles": [Unimodal([0]), Monotonic("increasing", [2])],
        "baseline": [Baseline("polynomial")],
        "baseline and closure": [Baseline("polynomial"), Closure()],
        "baseline of rows": [Baseline(np.ones((1, 96)))],
    }.items():
        Y = P + 0.3 if name.startswith("baseline") else P
        yield name, Y, {"constraints": given, "domain": "direct"}
    yield (
        "unimodal with gaps",
        with_gaps(P, seed),
        {"constraints": [Unimodal()], "method": Soft(n_iter=40)},
    )
    yield "hard with known sources", P, {"constraints": [KnownSources(S[:1])], "method": Hard(n_iter=60)}
    yield "start", P, {"start": (A, S)}


def error_bars(seed: int) -> Iterator[Case]:
    P, _, S = sparse(seed)
    asked = {"posterior": True, "domain": "direct"}
    yield "bars", P, asked
    yield "bars of bands", bands(seed)[0], {"posterior": True, "method": Soft(n_iter=60)}
    yield "bars with a known source", P, asked | {"constraints": [KnownSources(S[:1])], "noise": 0.1}
    yield "bars with gaps", with_gaps(P, seed), asked
    yield "bars with a baseline", P + 0.3, asked | {"constraints": [Baseline("polynomial")]}
    yield "bars of counts", counts(seed), asked | {"noise": "poisson"}


def elsewhere(seed: int, folder: Path) -> Iterator[Case]:
    import dask.array as da
    import zarr

    P, _, _ = sparse(seed, n=300)
    np.save(folder / "Y.npy", P)
    stored = zarr.create_array(str(folder / "Y.zarr"), shape=P.shape, chunks=(7, 50), dtype=P.dtype)
    stored[:] = P
    places = {
        "memory map": lambda: open_data(np.load(folder / "Y.npy", mmap_mode="r"), lazily=True),
        "Zarr": lambda: open_data(stored, lazily=True),
        "Dask": lambda: da.from_array(P, chunks=(5, 60)),
    }
    for place, opened in places.items():
        for method in (Soft(n_iter=40), Hard(n_iter=40), Anls(40)):
            yield f"{place}, {method.name}", opened(), {"method": method, "domain": "direct"}
        yield f"{place}, noise", opened(), {"noise": np.linspace(0.1, 0.3, 20), "domain": "direct"}


def digest(found: ngmca.Separation) -> str:
    arrays = [found.A, found.S, found.lam, found.noise, found.history.cost]
    if found.posterior is not None:
        arrays += [*found.posterior.S.interval(0.9), *found.posterior.A.interval(0.9)]
    content = (np.ascontiguousarray(np.asarray(one)).tobytes() for one in arrays)
    return hashlib.sha256(b"".join(content)).hexdigest()[:16]


def answers() -> Iterator[tuple[str, str]]:
    for seed in range(SEEDS):
        with tempfile.TemporaryDirectory() as folder:
            groups = [methods(seed), domains(seed), noise_models(seed), constraints(seed)]
            groups += [error_bars(seed)] if seed < SEEDS_WITH_BARS else []
            groups += [elsewhere(seed, Path(folder))] if seed < SEEDS_ELSEWHERE else []
            for name, Y, options in (case for group in groups for case in group):
                yield (
                    f"{name}, seed {seed}",
                    digest(ngmca.separate(Y, 3, **{"n_init": 1, "seed": seed} | options)),
                )
        print(f"seed {seed}", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = dict(answers())
    if asked.what == "record":
        asked.file.write_text(json.dumps(found, indent=1))
        print(f"{len(found)} answers in {asked.file}")
        return
    before = json.loads(asked.file.read_text())
    other = [name for name, bits in found.items() if before.get(name) != bits]
    print(f"{len(found) - len(other)} answers are the same, {len(other)} differ")
    print("\n".join(other))
    sys.exit(bool(other))


if __name__ == "__main__":
    main()
