"""How often `choose_rank` finds the true number of sources, what it makes of noise that is not white, what it costs.

    python bench/rank.py                 # 10 seeds of everything, about ten minutes
    python bench/rank.py --seeds 3 --only cost

Columns: how often the choice is the true number, at most one away, and how often each criterion alone is right. The cost
is told in separations of the same data, with one thread each, in processor time.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from infrared import infrared
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

import ngmca
from ngmca import simulate
from ngmca.simulate import Mixture

CRITERIA = ("held_out", "singular_values", "stability")


def renoised(mixture: Mixture, noise: NDArray) -> Mixture:
    """The same mixture with other noise of the same energy."""
    noise = noise * np.linalg.norm(mixture.noise) / np.linalg.norm(noise)
    return replace(mixture, Y=mixture.Y - mixture.noise + noise, noise=noise)


def unequal(mixture: Mixture) -> Mixture:
    """Noise ten times as strong in some measurements as in others."""
    levels = np.geomspace(1, 10, len(mixture.Y))
    return renoised(mixture, mixture.noise * levels[:, None])


def smooth(mixture: Mixture) -> Mixture:
    """Noise that neighbouring channels have in common."""
    return renoised(mixture, gaussian_filter1d(mixture.noise, 2.0, axis=1))


def counted(m: int, n: int, r: int, seed: int) -> Mixture:
    """Counts, 20 on average."""
    mixture = simulate.spectra(m, n, r, seed=seed)
    clean = np.maximum(mixture.A @ mixture.S, 0) * 20 / np.mean(mixture.A @ mixture.S)
    Y = np.random.default_rng(seed).poisson(clean).astype(float)
    return replace(mixture, Y=Y, noise=Y - clean)


def with_gaps(mixture: Mixture, seed: int) -> Mixture:
    """A fifth of the entries is missing."""
    gone = np.random.default_rng(seed).random(mixture.Y.shape) < 0.2
    return replace(mixture, Y=np.where(gone, np.nan, mixture.Y))


Made = Callable[[int], Mixture]
TRUE: dict[str, Made] = {
    f"sparse, r = {r}, {snr} dB": lambda s, r=r, snr=snr: simulate.sparse(r=r, snr=snr, seed=s)  # type: ignore[misc]
    for r in (3, 8, 15)
    for snr in (15, 20)
}
TRUE |= {
    "NMR, m = 60, r = 8, 20 dB": lambda s: simulate.nmr(m=60, r=8, snr=20, seed=s),
    "infrared, m = 30, r = 5, 25 dB": lambda s: infrared(30, 5, snr=25, seed=s),
}
OTHER: dict[str, Made] = {
    "sparse, r = 8, no noise": lambda s: simulate.sparse(r=8, seed=s),
    "sparse, r = 8, a fifth missing": lambda s: with_gaps(simulate.sparse(r=8, snr=20, seed=s), s),
    "sparse, r = 1, 15 dB": lambda s: simulate.sparse(r=1, snr=15, seed=s),
    "noise alone": lambda s: replace(
        simulate.sparse(r=1, snr=0, seed=s),
        Y=np.random.default_rng(s).standard_normal((200, 200)),
        S=np.zeros((0, 200)),
    ),
    "infrared, unequal noise": lambda s: unequal(infrared(30, 5, snr=25, seed=s)),
    "infrared, smooth noise": lambda s: smooth(infrared(30, 5, snr=25, seed=s)),
    "sparse, r = 8, unequal noise": lambda s: unequal(simulate.sparse(r=8, snr=20, seed=s)),
    "sparse, r = 8, smooth noise": lambda s: smooth(simulate.sparse(r=8, snr=20, seed=s)),
    "NMR, lines of half the width": lambda s: simulate.nmr(m=60, r=8, fwhm=1.5, snr=20, seed=s),
    "counts, m = 40, r = 4": lambda s: counted(40, 500, 4, s),
}


def table(rows: dict[str, Made], seeds: int) -> None:
    """Print how often the true number was found."""
    print(
        f"{'':34}{'true':>6}{'within one':>12}"
        + "".join(f"{name:>17}" for name in CRITERIA)
        + "   chosen"
    )
    for name, make in rows.items():
        chosen, suggested = [], []
        for seed in range(seeds):
            mixture = make(seed)
            found = ngmca.choose_rank(mixture.Y, seed=seed)
            chosen.append(found.rank)
            suggested.append([found.criteria[name] for name in CRITERIA])
        r = len(mixture.S)
        away = np.abs(np.array(chosen) - r)
        right = (np.array(suggested) == r).sum(axis=0)
        counts = "".join(f"{count:17d}" for count in right)
        print(f"{name:34}{(away == 0).sum():6d}{(away <= 1).sum():12d}{counts}   {chosen}", flush=True)


def cost(repeats: int) -> None:
    """Print how many separations one choice costs at 200 x 2,000, up to 12 sources."""
    print(
        f"\n200 x 2,000, max_rank = 12\n{'r':>4}{'separate (s)':>14}{'choose_rank (s)':>17}{'ratio':>8}"
    )
    for r in (4, 8, 12):
        Y = simulate.sparse(200, 2000, r, snr=20, seed=0).Y
        ngmca.choose_rank(Y[:, :100], 2, seed=0, threads=1)  # compiled by now
        one, choice = [], []
        for seed in range(repeats):
            one.append(seconds(lambda seed=seed: ngmca.separate(Y, r, seed=seed, threads=1, n_init=1)))
            choice.append(seconds(lambda seed=seed: ngmca.choose_rank(Y, 12, seed=seed, threads=1)))
        found = np.median(one), np.median(choice)
        print(f"{r:4d}{found[0]:14.3f}{found[1]:17.2f}{found[1] / found[0]:8.1f}", flush=True)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of some work: other processes of the machine do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", choices=("true", "other", "cost"))
    given = parser.parse_args()
    if given.only in (None, "true"):
        table(TRUE, given.seeds)
    if given.only in (None, "other"):
        table(OTHER, given.seeds)
    if given.only in (None, "cost"):
        cost(3)
