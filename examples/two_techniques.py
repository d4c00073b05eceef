"""Infrared and Raman of the same samples: tables are written, separated alone and together, and drawn.

Two of the three compounds have similar infrared spectra, two have similar Raman spectra.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd

import ngmca

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

SAMPLES, COMPOUNDS = 30, 3
AXES = {
    "infrared": ("wavenumber [cm-1]", np.linspace(3600, 700, 300), 1.0),
    "raman": ("Raman shift [cm-1]", np.linspace(200, 3200, 250), 5000.0),
}


def simulated(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Amounts, and spectra and measurements of each technique."""
    rng = np.random.default_rng(seed)
    A = rng.random((SAMPLES, COMPOUNDS))
    spectra, measured = {}, {}
    for k, (name, (_, axis, height)) in enumerate(AXES.items()):
        S = ngmca.simulate.bands(
            1, len(axis), COMPOUNDS, bands=8, fwhm=(8.0, 30.0), snr=None, seed=rng
        ).S
        S[k + 1] = 0.3 * S[k + 1] + 0.7 * S[k]
        spectra[name] = height * S
        clean = A @ spectra[name]
        level = 0.1 * np.sqrt(np.mean(clean**2))
        measured[name] = clean + level * rng.standard_normal(clean.shape)
    return A, spectra, measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("two_techniques"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    A, spectra, measured = simulated(args.seed)
    names = [f"sample {i + 1}" for i in range(SAMPLES)]
    for name, (label, axis, _) in AXES.items():
        table = pd.DataFrame(measured[name].T, pd.Index(axis, name=label), names)
        table.to_csv(args.out / f"{name}.csv")

    data = {name: ngmca.io.read(args.out / f"{name}.csv") for name in AXES}
    alone = {name: ngmca.separate(one, COMPOUNDS) for name, one in data.items()}
    both = ngmca.separate(data, COMPOUNDS, shared="mixing")
    print(both)
    parts = dict(zip(AXES, both.techniques, strict=True))
    amounts = {**{f"{name} alone": one.A for name, one in alone.items()}, "both": both.A}
    for name, found in amounts.items():
        print(f"amounts, {name:>14}: SDR {ngmca.evaluate(A.T, found.T).mean_sdr:4.1f} dB")
    for name in AXES:
        before, after = (ngmca.evaluate(spectra[name], one[name].S) for one in (alone, parts))
        gain = f"SDR {before.mean_sdr:4.1f} dB alone, {after.mean_sdr:4.1f} dB with both"
        print(f"spectra, {name:>14}: {gain}")
    draw(A, spectra, alone, parts, amounts).savefig(args.out / "techniques.png", dpi=100)


def draw(
    A: np.ndarray,
    spectra: dict[str, np.ndarray],
    alone: dict[str, ngmca.Separation],
    parts: dict[str, ngmca.Separation],
    amounts: dict[str, np.ndarray],
) -> Figure:
    """One column of spectra for each technique, and true against found amounts."""
    figure, panels = plt.subplots(
        COMPOUNDS, 3, figsize=(11, 6.5), width_ratios=(2, 2, 1), layout="constrained", sharex="col"
    )
    for k, (name, (label, axis, _)) in enumerate(AXES.items()):
        before, after = (ngmca.evaluate(spectra[name], one[name].S) for one in (alone, parts))
        for i in range(COMPOUNDS):
            panel = panels[i][k]
            panel.fill_between(axis, spectra[name][i], color="0.85", label="true")
            panel.plot(axis, before.S[i], "C0", linewidth=0.9, label="alone")
            panel.plot(axis, after.S[i], "C3", linewidth=0.9, label="with both")
            panel.set_yticks([])
        panel.set_xlabel(label)
        panel.set_xlim(*(axis[[0, -1]]))
        panels[0][k].set_title(name)
    for found, colour in zip(amounts.values(), ("C0", "C2", "C3"), strict=True):
        best = ngmca.evaluate(A.T, found.T).S
        for i in range(COMPOUNDS):
            panels[i][2].plot(A[:, i], best[i], ".", color=colour, markersize=4)
    for panel in panels[:, 2]:
        panel.plot([0, 1], [0, 1], "0.6", linewidth=0.8)
    panels[-1][2].set_xlabel("true amount")
    panels[0][2].set_title("found amount")
    panels[0][0].legend(fontsize=8)
    panels[0][2].legend(list(amounts), fontsize=7, markerscale=1.5)
    return figure


if __name__ == "__main__":
    main()
