"""Draw the spectra of a few compounds: `python examples/nmr_spectra.py lactate valine`."""

import argparse
from pathlib import Path

import matplotlib as mpl

import ngmca

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

COMPOUNDS = ["valine", "glycerophosphocholine", "phosphoethanolamine", "tyrosine"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compounds", nargs="*", default=COMPOUNDS)
    parser.add_argument("--field", type=float, default=400.0, help="frequency of protons in MHz")
    parser.add_argument("--out", type=Path, default=Path("nmr_spectra.png"))
    args = parser.parse_args()
    draw(args.compounds, args.field).savefig(args.out, dpi=90)
    print(f"{len(args.compounds)} spectra: {args.out.resolve()}")


def draw(compounds: list[str], field: float) -> Figure:
    """Spectra below each other, in units of protons a sample."""
    figure, panels = plt.subplots(
        len(compounds),
        1,
        figsize=(9, 1.3 * len(compounds)),
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    for name, panel in zip(compounds, panels[:, 0], strict=True):
        ppm, S = ngmca.simulate.spectrum(name, field=field)
        panel.plot(ppm, S, color="C0", linewidth=0.9)
        panel.set_title(name, loc="left", fontsize=9)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=7)
    panels[-1, 0].set_xlim(9, 0.5)  # as spectra are drawn, from left to right
    panels[-1, 0].set_xlabel("chemical shift [ppm]", fontsize=9)
    figure.supylabel("protons a sample", fontsize=9)
    return figure


if __name__ == "__main__":
    main()
