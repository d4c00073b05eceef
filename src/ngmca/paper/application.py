"""Section V: mixtures of NMR spectra of real compounds."""

from typing import TYPE_CHECKING

import numpy as np

from ngmca import baselines
from ngmca.paper import examples, figures, pictures
from ngmca.paper.claims import (
    Claim,
    Evidence,
    Finding,
    ahead,
    close,
    falls,
    interval,
    lead_between,
    measured,
    verdict_on_all,
)
from ngmca.paper.experiments import Example, Experiment, Study
from ngmca.paper.measures import spectra
from ngmca.paper.noisy import ALL, NOISE, OTHERS

if TYPE_CHECKING:
    import pandas as pd

SHOWN = ("glutamate", "myo-inositol", "alpha-glucose", "valine")  # in the picture of spectra


def _exactly(what: str, value: float, **limits: float) -> Evidence:
    return Evidence(what, value, value, value, 1, **limits)


def _sparse(table: "pd.DataFrame", varies: str) -> Finding:
    rows = [group["intensity"].to_numpy() for _, group in table.groupby("compound", sort=False)]
    values = [baselines.sparseness(row) for row in rows]
    return verdict_on_all([_exactly("least sparseness of the 15 spectra", min(values), above=0.5)])


def _correlated(table: "pd.DataFrame", varies: str) -> Finding:
    groups = table.groupby("compound", sort=False)
    S = np.stack([group["intensity"].to_numpy() for _, group in groups])
    names = [str(name) for name, _ in groups]
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    products = np.triu(S @ S.T, 1)
    i, j = np.unravel_index(np.argmax(products), products.shape)
    what = f"largest normalised scalar product ({names[i]}, {names[j]})"
    return verdict_on_all([_exactly(what, float(products[i, j]), above=0.6)])


def _ill_conditioned(table: "pd.DataFrame", varies: str) -> Finding:
    own = table[(table["method"] == "oracle") & (table[varies] == 15)]
    what = "log10 cond(A'A), unit columns"
    return verdict_on_all([interval(what, own["log_cond"], above=3.5, below=4.5)])


def _grows_faster(table: "pd.DataFrame", varies: str) -> Finding:
    ends = [table[table[varies] == x] for x in (table[varies].min(), table[varies].max())]
    first, last = (t.pivot(index="sim", columns="method", values="sdr") for t in ends)
    gain = (last - first).dropna()
    what = "gain of naive less that of soft, fewest to most measurements"
    return verdict_on_all([interval(what, gain["naive"] - gain["soft"], above=0.0)])


NOISE_LEVELS = Study(
    "noise_application",
    "nmr",
    {"m": 15, "r": 15},
    "snr",
    (5, 10, 15, 20, 30, 40),
    (*ALL, "oracle"),
    2.0,
    96,
    spectra,
)
MEASUREMENTS = Study(
    "m_application",
    "nmr",
    {"r": 15, "snr": 15},
    "m",
    (15, 20, 30, 45, 60, 90),
    (*ALL, "oracle"),
    2.0,
    36,
    spectra,
)

EXPERIMENTS = (
    Experiment(
        "NMRspectra",
        "NMR spectra of four compounds",
        pictures.nmr_spectra(SHOWN),
        example=Example("nmr_spectra", examples.nmr_spectra, NOISE_LEVELS, 15),
        claims=(
            Claim(
                "The spectra are very sparse (Hoyer's sparseness above 0.5 for all 15).",
                "Sec. V, first paragraph",
                _sparse,
            ),
            Claim(
                "Some spectra have a strong normalised scalar product (0.67 in the paper; above 0.6).",
                "Sec. V, first paragraph",
                _correlated,
            ),
        ),
        remark="Built-in compounds stand in for those of the paper, which may not be passed on.",
    ),
    Experiment(
        "appli_mixture",
        "A measurement with one main component (15 dB)",
        pictures.nmr_mixture,
        example=Example("appli_mixture", examples.nmr_mixture, NOISE_LEVELS, 15),
    ),
    Experiment(
        "noise_application",
        "SDR against the noise (NMR spectra, m = 15, tau = 2)",
        figures.against(NOISE),
        NOISE_LEVELS,
        claims=(
            Claim(
                "nGMCA^S is 3 to 5 dB better than all the other methods.",
                "Sec. V, third paragraph",
                lead_between("soft", OTHERS, 3.0, 5.0),
            ),
            Claim(
                "nGMCA^S is better than all the other methods, at every level.",
                "Sec. V, third paragraph (the sign of the claim above)",
                ahead("soft", OTHERS),
            ),
            Claim(
                "nGMCA^naive fails to obtain suitable results (below 5 dB at every level).",
                "Sec. V, third paragraph",
                measured("naive", "sdr", below=5.0),
            ),
            Claim(
                "The conditioning is extremely poor: cond(A'A) about 10^4 (10^3.5 to 10^4.5).",
                "Sec. V, third paragraph",
                _ill_conditioned,
            ),
            Claim(
                "With as few measurements as sources the noise is underestimated by the algorithm.",
                "Sec. V, second paragraph",
                measured("soft", "noise_ratio", below=1.0),
            ),
        ),
    ),
    Experiment(
        "appli_reconstruction_example",
        "A reconstructed spectrum (15 dB)",
        pictures.nmr_reconstruction,
        NOISE_LEVELS,
        Example("appli_reconstruction_example", examples.nmr_reconstruction, NOISE_LEVELS, 15),
        claims=(
            Claim(
                "nGMCA^S identifies more peaks than sparse accelerated HALS (15 dB).",
                "Sec. V, third paragraph",
                ahead("soft", ("sparse_hals",), at=(15,), measure="peaks"),
            ),
            Claim(
                "Its reconstruction is not completely noiseless: some samples without signal are not 0.",
                "Sec. V, third paragraph",
                measured("soft", "idle", above=0.0),
            ),
        ),
    ),
    Experiment(
        "m_application",
        "SDR against the number of measurements (NMR spectra, 15 dB, tau = 2)",
        figures.against("Number of measurements m"),
        MEASUREMENTS,
        claims=(
            Claim(
                "With more measurements the results of nGMCA^naive rise very quickly: more than those "
                "of nGMCA^S.",
                "Sec. V, last paragraph",
                _grows_faster,
            ),
            Claim(
                "All methods gain from more measurements.",
                "Sec. V, last paragraph",
                falls(ALL, rises=True),
            ),
            Claim(
                "With enough measurements nGMCA^naive is similar to nGMCA^S (within 1 dB at m = 90).",
                "Sec. V, last paragraph",
                close("naive", "soft", within=1.0, at=(90,)),
            ),
            Claim(
                "With enough measurements sparse HALS is similar to nGMCA^S (within 1 dB at m = 90).",
                "Sec. V, last paragraph",
                close("sparse_hals", "soft", within=1.0, at=(90,)),
            ),
            Claim(
                "nGMCA^S is better than all the other methods in most settings.",
                "Sec. V, last paragraph",
                ahead("soft", OTHERS, most=True),
            ),
        ),
    ),
)
