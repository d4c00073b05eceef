"""Mean SDR of the sources on mixtures of smooth bands, for the methods of unmixing.

    python bench/rivals_bands.py [number of seeds, 8]

40 measurements of 5 spectra on 1,024 channels at 25 dB: `ngmca.simulate.bands`, with amounts between 0 and
1, with amounts that sum to 1, and with every spectrum once measured alone among the latter.
"""

import sys
from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

import ngmca
from ngmca import rivals

R = 5
METHODS = {
    "hals": rivals.hals,
    "minvol": rivals.minvol,
    "minvol, volume of A": lambda *a, **k: rivals.minvol(*a, volume="mixing", weight=0.01, **k),
    "spa": rivals.spa,
    "vca": rivals.vca,
    "nonnegative_ica": rivals.nonnegative_ica,
    "soft": lambda Y, r, seed: ngmca.separate(Y, r, seed=seed, n_init=1),
}


def with_pure(mixture):
    A = mixture.A.copy()
    A[:R] = np.eye(R)
    return replace(mixture, A=A, Y=A @ mixture.S + mixture.noise)


DATA = {
    "uniform": lambda seed: ngmca.simulate.bands(r=R, seed=seed),
    "Dirichlet": lambda seed: ngmca.simulate.bands(r=R, mixing="dirichlet", seed=seed),
    "Dirichlet, pure": lambda seed: with_pure(ngmca.simulate.bands(r=R, mixing="dirichlet", seed=seed)),
}


def main(n_seeds: int) -> None:
    print(f"| method | {' | '.join(DATA)} |")
    print("|---" * (len(DATA) + 1) + "|")
    mixtures = {name: [make(seed) for seed in range(n_seeds)] for name, make in DATA.items()}
    for name, method in METHODS.items():
        means = [
            np.mean([
                ngmca.evaluate(mixture.S, method(mixture.Y, R, seed=seed).S).mean_sdr
                for seed, mixture in enumerate(some)
            ])
            for some in mixtures.values()
        ]  # fmt: skip
        print(f"| `{name}` | {' | '.join(f'{mean:.1f}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 8)
