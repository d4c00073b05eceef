"""The sequel (Rapin, Bobin, Larue, Starck, SIAM J. Imaging Sciences 7(4), 2014): sparse in a frame.

Two formulations, each also reweighted: analysis, where the coefficients that the sources have are
sparse, and synthesis, where those that they are made of are. They begin where `separate` goes on in a
frame, and have its steps; `auto` differs from the reweighted analysis by a threshold on the channels of
line spectra, and by a choice of the domain.
"""

from typing import Any

from ngmca.paper.claims import Claim, ahead, close, said_in, together
from ngmca.paper.experiments import Study, curves

PLAIN = ("analysis", "synthesis")
REWEIGHTED = ("analysis_reweighted", "synthesis_reweighted")
METHODS = ("direct", *PLAIN, *REWEIGHTED, "minvol", "auto", "oracle")
NMR = {"m": 32, "n": 1024, "r": 12, "fwhm": 4, "snr": 20}
FULL = 12  # simulations

_SHRUNK = (
    "Without weights the penalty takes as much from a coefficient that is clearly there as from one "
    "that is not, and the mixing gives way to it. With the true mixing, analysis would be ahead."
)


def _study(name: str, varies: str, values: tuple[float, ...]) -> Study:
    fixed: dict[str, Any] = {key: value for key, value in NMR.items() if key != varies}
    return Study(name, "nmr", fixed, varies, values, METHODS, tau=1.0, sims=FULL)


LEVELS = _study("sequel_snr", "snr", (10, 15, 20, 25))
WIDTHS = _study("sequel_width", "fwhm", (1, 2, 4, 8))
MEASUREMENTS = _study("sequel_m", "m", (15, 20, 32, 65))
SOURCES = _study("sequel_r", "r", (6, 9, 12, 15))
IMAGES = Study(
    "sequel_images",
    "images",
    {"m": 32, "shape": (128, 128), "r": 4},
    "snr",
    (25, 30, 35, 40),
    METHODS,
    tau=1.0,
    sims=FULL,
)
_in_sequel = said_in("Rapin et al. (2014), the comparison of its formulations")

COMMON = (
    _in_sequel(
        "Analysis is better than synthesis in most settings.",
        ahead("analysis", ("synthesis",)),
        most=True,
        why=_SHRUNK,
    ),
    _in_sequel(
        "Reweighted, analysis is better than synthesis in most settings.",
        ahead("analysis_reweighted", ("synthesis_reweighted",)),
        most=True,
    ),
    _in_sequel(
        "Weights improve both formulations, in every setting.",
        together(*(ahead(f"{name}_reweighted", (name,)) for name in PLAIN)),
    ),
    _in_sequel(
        "Both reweighted formulations are better than min-vol in most settings.",
        together(*(ahead(name, ("minvol",)) for name in REWEIGHTED)),
        most=True,
    ),
    Claim(
        "`separate(Y, r)` is better than each of the four formulations in most settings.",
        "docs/explanations/paper.md",
        together(*(ahead("auto", (name,)) for name in (*PLAIN, *REWEIGHTED))),
        most=True,
    ),
)
TRANSFORMED = (
    _in_sequel(
        "Analysis is better than the direct domain in most settings.",
        ahead("analysis", ("direct",)),
        most=True,
        why=_SHRUNK,
    ),
    _in_sequel(
        "Reweighted analysis is better than the direct domain in every setting.",
        ahead("analysis_reweighted", ("direct",)),
    ),
)

EXPERIMENTS = (
    curves(
        LEVELS,
        "The sequel: SDR against the noise (NMR spectra, m = 32, r = 12, width 4)",
        *TRANSFORMED,
        *COMMON,
    ),
    curves(
        WIDTHS,
        "The sequel: SDR against the width of lines (NMR spectra, m = 32, r = 12, 20 dB)",
        _in_sequel(
            "Analysis is better than the direct domain for widths of 2 and more.",
            ahead("analysis", ("direct",), at=(2, 4, 8)),
            why=_SHRUNK,
        ),
        _in_sequel(
            "Reweighted analysis is better than the direct domain for widths of 2 and more.",
            ahead("analysis_reweighted", ("direct",), at=(2, 4, 8)),
        ),
        _in_sequel(
            "For a width of 1 the direct domain is as good as reweighted analysis (within 1 dB).",
            close("direct", "analysis_reweighted", within=1.0, at=(1,)),
        ),
        *COMMON,
    ),
    curves(
        MEASUREMENTS,
        "The sequel: SDR against the number of measurements (NMR spectra, r = 12, 20 dB, width 4)",
        *TRANSFORMED,
        *COMMON,
    ),
    curves(
        SOURCES,
        "The sequel: SDR against the number of sources (NMR spectra, m = 32, 20 dB, width 4)",
        *TRANSFORMED,
        *COMMON,
    ),
    curves(
        IMAGES,
        "The sequel: SDR against the noise (4 images of 128 x 128 pixels, m = 32)",
        *TRANSFORMED,
        *COMMON,
        remark="Drawn images (blobs, filaments, edges) stand in for those of the sequel.",
    ),
)
