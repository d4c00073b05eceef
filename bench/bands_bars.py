"""Error bars of lines and bands against the truth: `python bench/bands_bars.py [bands others check]`.

bands   90 % intervals in the domain "wavelet" on mixtures of infrared spectra: shares of A and of S above 1 % of its
        maximum that they hold, over all mixtures and in the worst one, their widths, SDR, R-hat and seconds
others  the same for other noise, mixing, numbers and spectra
check   in the domain "direct": how often the model is refuted by what it finds, and what its intervals hold

--seeds 4-7 takes other mixtures than 0-3. `bench/intervals.py` counts source by source.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from types import SimpleNamespace

import infrared
import numpy as np
from numpy.typing import NDArray

import ngmca
from ngmca.sampling.model_check import ModelCheck, check_model
from ngmca.simulate.mixture import Mixture, mix

Make = Callable[[int], Mixture]
INFRARED = ("infrared as they are", "FWHM 10", "FWHM 30")
UNORDERED = ("white", "shuffled")


def band_width(S: NDArray) -> float:
    """Return the lag, in channels, at which the mean autocorrelation of the sources falls to 1/2."""
    X = S - S.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(X, 2 * S.shape[1], axis=1)) ** 2
    covariance = np.fft.irfft(power, axis=1)[:, : S.shape[1]]
    alive = covariance[:, 0] > 0
    if not alive.any():
        return 0.0
    mean = np.mean(covariance[alive] / covariance[alive, :1], axis=0)
    below = np.flatnonzero(mean < 0.5)
    return float(below[0]) if below.size else float(S.shape[1])


def random_bands(seed: int, width: tuple[float, float], lines: int, mixed: float) -> Mixture:
    """40 mixtures of 5 sources of some bands, Gaussian to Lorentzian, of these widths in channels."""
    rng = np.random.default_rng([seed, 999])
    t, S = np.arange(1024), np.zeros((5, 1024))
    for row in S:
        for _ in range(rng.poisson(lines) + 3):
            centre, wide = rng.uniform(0, 1024), np.exp(rng.uniform(*np.log(width)))
            height, share = rng.exponential(), min(rng.uniform(0, 2 * mixed), 1.0)
            x = 2 * (t - centre) / wide
            row += height * ((1 - share) * np.exp(-np.log(2) * x**2) + share / (1 + x**2))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    return mix(rng.uniform(size=(40, 5)), S, 25.0, rng)


def in_runs(seed: int, snr: float = 20.0) -> Mixture:
    """Sources as the model "direct" has them, with long runs of active samples."""
    rng = np.random.default_rng([seed, 5])
    S = np.zeros((5, 1024))
    for row in S:
        on = False
        for t in range(row.size):
            on = rng.random() < (0.85 if on else 0.08)
            row[t] = rng.exponential() if on else 0.0
    return mix(np.abs(rng.standard_normal((40, 5))), S, snr, rng)


OTHERS: dict[str, Make] = {
    **{
        name: make
        for name, make in infrared.ROWS.items()
        if name not in INFRARED and not any(word in name for word in UNORDERED)
    },
    "bands 6-40": lambda s: random_bands(s, (6, 40), 14, 0.5),
    "bands 30-100": lambda s: random_bands(s, (30, 100), 6, 0.5),
    "Gaussian bands 6-40": lambda s: random_bands(s, (6, 40), 14, 0.0),
}
CHECKED: dict[str, Make] = {
    **{name: make for name, make in infrared.ROWS.items() if name.split(",")[0] != "FWHM 10"},
    **{name: infrared.ROWS[name] for name in ("FWHM 10", "FWHM 10, shuffled")},
    "in runs": in_runs,
}


def paired(data: Mixture, S: NDArray) -> tuple[NDArray, NDArray]:
    """The truth, with columns of A of norm 1, in the order of the sources found."""
    order = np.argsort(ngmca.evaluate(data.S, S).order)
    norm = np.linalg.norm(data.A, axis=0)
    return (data.A / norm)[:, order], (data.S * norm[:, None])[order]


def held(data: Mixture, found: ngmca.Posterior, S: NDArray) -> tuple[float, float, float, float]:
    """Shares of A and of S above 1 % of its maximum inside 90 % intervals, and how wide these are."""
    true_A, true_S = paired(data, S)
    big = true_S > 0.01 * true_S.max(axis=1, keepdims=True)
    low, high = found.A.interval(0.9)
    in_A, wide_A = np.mean((low <= true_A) & (true_A <= high)), np.mean(high - low)
    low, high = found.S.interval(0.9)
    in_S = np.mean(((low <= true_S) & (true_S <= high))[big])
    wide_S = np.sqrt(np.mean((high - low)[big] ** 2) / np.mean(true_S[big] ** 2))
    return float(in_A), float(in_S), float(wide_A / np.sqrt(np.mean(true_A**2))), float(wide_S)


def score(data: Mixture) -> list[float]:
    """One mixture: what intervals hold, SDR of the separation and of the mean of the draws, and so on."""
    begin = time.perf_counter()
    separation = ngmca.separate(data.Y, len(data.S), domain="wavelet", seed=0, n_init=1)
    middle = time.perf_counter()
    found = ngmca.posterior(data.Y, separation, seed=0)
    end = time.perf_counter()
    sdr = [ngmca.evaluate(data.S, x).mean_sdr for x in (separation.S, found.S.mean)]
    rhat = max(found.rhat["A"].max(), found.rhat["S"].max())
    sampled = found.burn + found.n_samples
    width = band_width(separation.S)
    return [*held(data, found, separation.S), *sdr, rhat, width, sampled, middle - begin, end - middle]


def table(cases: dict[str, Make], seeds: Iterable[int]) -> None:
    """One line a kind of mixture."""
    print(
        "\n| data | A in 90 % | S in 90 % | worst A, S | widths over rms | SDR separation, mean | R-hat | lag | sweeps "
        "| s |\n|" + "---|" * 10
    )
    every = []
    for name, make in cases.items():
        rows = np.array([score(make(seed)) for seed in seeds])
        every.append(rows)
        print(f"| {name} | {_cells(rows)} |", flush=True)
    print(f"| all | {_cells(np.concatenate(every))} |", flush=True)


def _cells(rows: NDArray) -> str:
    x = rows.mean(axis=0)
    return (
        f"{x[0]:.3f} | {x[1]:.3f} | {rows[:, 0].min():.2f}, {rows[:, 1].min():.2f} | {x[2]:.2f}, {x[3]:.2f} | "
        f"{x[4]:.1f}, {x[5]:.1f} | {rows[:, 6].max():.2f} | {rows[:, 7].min():.0f}-{rows[:, 7].max():.0f} | {x[8]:.0f} | "
        f"{x[9]:.1f}, {x[10]:.1f}"
    )


def bands(seeds: list[int]) -> None:
    table({name: infrared.ROWS[name] for name in INFRARED}, seeds)


def others(seeds: list[int]) -> None:
    table(OTHERS, seeds)


def check(seeds: list[int]) -> None:
    print(
        "\n| data | refuted | severely | correlation | standard errors | overlap | A in 90 % | S in 90 % |\n|"
        + "---|" * 8
    )
    for name, make in CHECKED.items():
        rows, fired = [], []
        for seed in seeds:
            data = make(seed)
            tau = 2.0 if "NMR" in name else 1.0  # as in the paper
            separation = ngmca.separate(
                data.Y, len(data.S), method=ngmca.Soft(tau=tau), domain="direct", seed=0, n_init=1
            )
            found = ngmca.posterior(data.Y, separation, seed=0)
            told = checked(data, found)
            fired.append((told.refuted, told.severe))
            rows.append([told.correlation, told.z, told.overlap, *held(data, found, found.S.mean)[:2]])
        low, high = np.min(rows, axis=0), np.max(rows, axis=0)
        ranges = " | ".join(f"{a:.2f} to {b:.2f}" for a, b in zip(low, high, strict=True))
        times = np.sum(fired, axis=0)
        print(f"| {name} | {times[0]} of {len(seeds)} | {times[1]} | {ranges} |", flush=True)


def checked(data: Mixture, found: ngmca.Posterior) -> ModelCheck:
    """The check that `posterior` makes."""
    return check_model(ngmca.engines.open_data(data.Y), found)


PARTS = SimpleNamespace(bands=bands, others=others, check=check)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=["bands"])
    parser.add_argument("--seeds", default="0-3", help="from-to")
    args = parser.parse_args()
    first, _, last = args.seeds.partition("-")
    warnings.simplefilter("ignore", UserWarning)  # what they say is in the tables
    for part in args.parts:
        getattr(PARTS, part)(list(range(int(first), int(last or first) + 1)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
