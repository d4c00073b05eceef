"""Messy data: `python bench/messy_data.py [--seeds 12] [SECTION ...]` computes the figures of docs/reference/constraints.md.

Sections: missing, levels, counts, spikes, baseline, square. Each prints the mean SDR in dB, that of complete, plain or clean
data, and its limit. The exit status is 1 if a limit is missed. `square` runs 200 problems with as many measurements as
sources for every option; there must be no exception, NaN or warning.
"""

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import infrared
from task_options import records

import ngmca

R, SIZE = 15, {"m": 200, "n": 200, "r": 15, "p_S": 0.1}


def sdr(mixture, found) -> float:
    return ngmca.evaluate(mixture.S, found.S).mean_sdr


def white(seed: int, snr: float = 15.0, **other):
    return ngmca.simulate.sparse(**SIZE | other, snr=snr, seed=seed)


def missing(seed: int) -> dict:
    """30 % of the entries missing at random, and as a block and stripes."""
    mixture, rng = white(seed), np.random.default_rng(seed)
    begun = time.process_time()
    complete = ngmca.separate(mixture.Y, R, seed=seed)
    plain = time.process_time() - begun
    gaps = {"at random": rng.random(mixture.Y.shape) < 0.3, "block": np.zeros((200, 200), bool)}
    gaps["block"][:60, :100] = True
    gaps["stripes"] = np.zeros((200, 200), bool)
    gaps["stripes"][::5, 50:150] = True
    found = {"complete": sdr(mixture, complete)}
    for name, gap in gaps.items():
        begun = time.process_time()
        found[name] = sdr(mixture, ngmca.separate(mixture.Y, R, mask=gap, seed=seed))
        found[f"time {name}"] = (time.process_time() - begun) / plain
    return found


def levels(seed: int) -> dict:
    """Noise levels over a factor of 10: of measurements, of samples, of entries."""
    mixture, rng = white(seed, snr=200.0), np.random.default_rng(seed)
    clean, found = mixture.A @ mixture.S, {}
    for name, shape in {"measurements": (200, 1), "samples": (1, 200), "entries": (200, 200)}.items():
        sigma = 0.25 * 10 ** rng.uniform(-0.5, 0.5, shape)
        Y = clean + sigma * rng.standard_normal(clean.shape)
        found[f"{name}, plain"] = sdr(mixture, ngmca.separate(Y, R, seed=seed))
        begun = time.process_time()
        found[f"{name}, weighted"] = sdr(mixture, ngmca.separate(Y, R, noise=sigma, seed=seed))
        found[f"time {name}"] = time.process_time() - begun
    return found


def counts(seed: int) -> dict:
    """Poisson counts, on white sources and on bands."""
    found, rng = {}, np.random.default_rng(seed)
    kinds = {
        "white": ngmca.simulate.sparse(m=60, n=300, r=5, p_S=0.3, snr=200, seed=seed),
        "bands": ngmca.simulate.bands(m=40, n=600, r=4, snr=200, seed=seed),
    }
    for kind, mixture in kinds.items():
        clean = np.maximum(mixture.A @ mixture.S, 0)
        for mean in (5, 20, 50):
            Y = rng.poisson(clean * mean / clean.mean())
            for name, noise in (("plain", None), ("poisson", "poisson")):
                result = ngmca.separate(Y, len(mixture.S), noise=noise, seed=seed)
                found[f"{kind} {mean}, {name}"] = sdr(mixture, result)
    return found


def spikes(seed: int) -> dict:
    """0.1 % of the entries 50 noise levels too high."""
    mixture, rng = white(seed), np.random.default_rng(seed)
    hit = rng.random(mixture.Y.shape) < 0.001
    Y = mixture.Y + 50 * np.std(mixture.Y - mixture.A @ mixture.S) * hit
    robust = ngmca.separate(Y, R, robust=True, seed=seed)
    listed = np.zeros(Y.shape, bool)
    listed[tuple(robust.outliers.T)] = True
    return {
        "clean": sdr(mixture, ngmca.separate(mixture.Y, R, seed=seed)),
        "plain": sdr(mixture, ngmca.separate(Y, R, seed=seed)),
        "robust": sdr(mixture, robust),
        "share found": (listed & hit).sum() / max(hit.sum(), 1),
        "wrongly": (listed & ~hit).sum(),
    }


def baseline(seed: int) -> dict:
    """Infrared mixtures on curved baselines twice as strong as the bands."""
    mixture, found = infrared.infrared(seed=seed), {}
    (m, n), r = mixture.Y.shape, len(mixture.S)
    rng, x = np.random.default_rng([seed, 5]), np.linspace(0, 1, n)
    height = 2 * (mixture.A @ mixture.S).max()
    curves = {
        "quadratic": rng.random((m, 3)) @ ngmca.backgrounds.polynomial(n, 2),
        "bumps": rng.random((m, 1)) * np.exp(-2 * x)
        + rng.random((m, 1)) * np.exp(-(((x - 0.6) / 0.3) ** 2)),
    }
    for domain in ("auto", "direct"):
        given = {"domain": domain, "seed": seed}
        found[f"{domain}, none"] = sdr(mixture, ngmca.separate(mixture.Y, r, **records(**given)))
        for name, curve in curves.items():
            Y = mixture.Y + height * curve / curve.max()
            kind = ngmca.backgrounds.polynomial(n, 2) if name == "quadratic" else "splines"
            found[f"{domain}, {name}"] = sdr(
                mixture, ngmca.separate(Y, r, **records(baseline=kind, **given))
            )
            found[f"{domain}, {name}, ignored"] = sdr(mixture, ngmca.separate(Y, r, **records(**given)))
    return found


def options_of(mixture, rng) -> dict[str, dict]:
    """Every option once, for a problem of 15 measurements."""
    m, n = mixture.Y.shape
    return {
        "plain": {},
        "missing": {"mask": rng.random((m, n)) < 0.3},
        "rows": {"noise": 0.3 * 10 ** rng.uniform(-0.5, 0.5, m)},
        "columns": {"noise": 0.3 * 10 ** rng.uniform(-0.5, 0.5, (1, n))},
        "entries": {"noise": 0.3 * 10 ** rng.uniform(-0.5, 0.5, (m, n))},
        "poisson": {"noise": "poisson"},
        "robust": {"robust": True},
        "known sources": {"known_sources": mixture.S[:3]},
        "known mixing": {"known_mixing": mixture.A[:, :3]},
        "zero sources": {"zero_sources": mixture.S == 0},
        "zero mixing": {"zero_mixing": rng.random(mixture.A.shape) < 0.2},
        "closure": {"closure": True},
        "unimodal": {"profiles": "unimodal"},
        "increasing": {"profiles": "increasing"},
        "baseline": {"baseline": "splines"},
        "penalised both": {"penalised": "both"},
        "penalised A": {"penalised": "A"},
        "several": {},
    }


def square(seed: int) -> dict:
    """As many measurements as sources: nothing but finite numbers may come out."""
    mixture, rng = white(seed, m=15, p_S=0.3), np.random.default_rng(seed)
    failures = {}
    for name, given in options_of(mixture, rng).items():
        Y = [mixture.Y[:7], mixture.Y[7:]] if name == "several" else mixture.Y
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                found = ngmca.separate(Y, R, **records(seed=seed, **given))
                bad = not (np.isfinite(found.A).all() and np.isfinite(found.S).all())
            except Exception as error:
                print(f"seed {seed}, {name}: {error!r}")
                bad = True
        failures[name] = float(bad)
    return failures


def at_most(name: str, below: str, limit: float) -> Callable[[dict], tuple[str, bool]]:
    def check(mean: dict) -> tuple[str, bool]:
        loss = mean[below] - mean[name]
        return f"{name} is {loss:.2f} dB below {below} (limit {limit:g})", loss <= limit

    return check


def at_least(name: str, above: str, limit: float) -> Callable[[dict], tuple[str, bool]]:
    def check(mean: dict) -> tuple[str, bool]:
        gain = mean[name] - mean[above]
        return f"{name} is {gain:.2f} dB above {above} (limit {limit:g})", gain >= limit

    return check


SECTIONS = {
    "missing": (missing, [at_most("at random", "complete", 1.5)]),
    "levels": (
        levels,
        [
            at_least(f"{kind}, weighted", f"{kind}, plain", 1)
            for kind in ("measurements", "samples", "entries")
        ],
    ),
    "counts": (
        counts,
        [
            at_least(f"{k} {n}, poisson", f"{k} {n}, plain", 1)
            for k in ("white", "bands")
            for n in (5, 20, 50)
        ],
    ),
    "spikes": (spikes, [at_most("robust", "clean", 0.5)]),
    "baseline": (
        baseline,
        [at_most(f"auto, {kind}", "auto, none", 2) for kind in ("quadratic", "bumps")],
    ),
    "square": (square, []),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    parser.add_argument("--seeds", type=int, default=12)
    wanted, missed = parser.parse_args(), 0
    for name in wanted.sections or SECTIONS:
        measure, limits = SECTIONS[name]
        seeds = 200 if name == "square" and wanted.seeds == 12 else wanted.seeds
        rows = [measure(seed) for seed in range(seeds)]
        mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
        print(f"\n{name}: {measure.__doc__} ({seeds} seeds)")
        for key, value in mean.items():
            print(f"  {key:28} {value:7.2f}")
        for check in limits:
            told, kept = check(mean)
            missed += not kept
            print(f"  {'kept  ' if kept else 'MISSED'} {told}")
        if name == "square":
            missed += any(mean.values())
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
