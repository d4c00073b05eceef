"""Infrared and Raman spectra of the same samples: sources and amounts from each alone, and from both together.

Each compound has a real infrared spectrum (see `infrared.py`) and a simulated Raman spectrum: lines of its own on another
axis, in counts. `python bench/techniques.py [SEEDS]` prints the SDR in dB of the amounts A and of the sources of each
technique, as means over the seeds, and in how many seeds both together give better amounts than the better one alone.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import ngmca
from ngmca.simulate.mixture import Mixture, mix

sys.path.insert(0, str(Path(__file__).parent))
import infrared

COUNTS = 4000.0  # of the highest Raman line


def pair(
    seed: int,
    *,
    m: int = 30,
    r: int = 4,
    channels: tuple[int, int] = (512, 400),
    fwhm: float = 10.0,
    widths: tuple[float, float] = (6.0, 30.0),
    snr: tuple[float, float] = (20.0, 20.0),
    mixing: str = "uniform",
    alike: float = 0.0,
) -> tuple[Mixture, Mixture]:
    """Infrared and Raman of m mixtures of r compounds.

    `alike` is the share of the spectrum of the compound before in that of every second compound in the infrared, and of
    every other second one in Raman, as of compounds with the same groups.
    """
    rng = np.random.default_rng([seed, 99])
    first = infrared.infrared(m, r, fwhm=fwhm, mixing=mixing, n=channels[0], seed=seed)
    lines = ngmca.simulate.bands(m, channels[1], r, bands=10, fwhm=widths, snr=None, seed=rng)
    S, T = first.S.copy(), COUNTS * lines.S
    S[1::2] = (1 - alike) * S[1::2] + alike * S[: r - 1 : 2]
    T[2::2] = (1 - alike) * T[2::2] + alike * T[1 : r - 1 : 2]
    return replace(mix(first.A, S, snr[0], rng), names=first.names), mix(first.A, T, snr[1], rng)


ROWS: dict[str, Callable[[int], tuple[Mixture, Mixture]]] = {
    "20 and 20 dB": pair,
    "compounds alike": lambda seed: pair(seed, alike=0.7),
    "10 and 10 dB": lambda seed: pair(seed, snr=(10.0, 10.0)),
    "30 and 30 dB": lambda seed: pair(seed, snr=(30.0, 30.0)),
    "10 samples": lambda seed: pair(seed, m=10),
    "20 and 5 dB": lambda seed: pair(seed, snr=(20.0, 5.0)),
}


def sdr(true: NDArray, found: NDArray) -> float:
    """Mean SDR of the rows."""
    return ngmca.evaluate(true, found).mean_sdr


def measured(x: Mixture, y: Mixture) -> list[float]:
    """A and S of the infrared alone, A and S of Raman alone, A and both S of both together."""
    r = len(x.S)
    one, other = ngmca.separate(x.Y, r), ngmca.separate(y.Y, r)
    both = ngmca.separate({"infrared": x.Y, "raman": y.Y}, r, shared="mixing")
    first, second = both.techniques
    return [
        *(sdr(x.A.T, one.A.T), sdr(x.S, one.S), sdr(x.A.T, other.A.T), sdr(y.S, other.S)),
        *(sdr(x.A.T, both.A.T), sdr(x.S, first.S), sdr(y.S, second.S)),
    ]


def main() -> None:
    """Print the table."""
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    rows = [name for name in ROWS if not sys.argv[2:] or name in sys.argv[2:]]
    print(f"SDR in dB, means over {seeds} seeds")
    print(
        "| | infrared: A | S | Raman: A | S | both: A | S infrared | S Raman | A better than the better one |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name in rows:
        found = np.array([measured(*ROWS[name](seed)) for seed in range(seeds)])
        gain = found[:, 4] - np.maximum(found[:, 0], found[:, 2])
        numbers = " | ".join(f"{value:.1f}" for value in found.mean(axis=0))
        print(
            f"| {name} | {numbers} | {gain.mean():+.1f}, in {np.sum(gain > 0)} of {seeds} |", flush=True
        )


if __name__ == "__main__":
    main()
