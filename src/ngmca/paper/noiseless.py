"""Section IV-C: noiseless data with a large activation rate, which does not favour nGMCA."""

import numpy as np
import pandas as pd

from ngmca.paper import claims as check
from ngmca.paper import example_figures, experiment_figures, measures
from ngmca.paper.experiments import Example, Experiment, Study, curves
from ngmca.paper.measures import compensation, conditioning, convergence

ALL = ("soft", "hard", "naive", "als", "hals", "multiplicative")
OTHERS = ALL[1:]
FEW = (5, 10, 15)  # sources
SHAPES = (0.5, 0.9, 1.6, 2.0, 4.0)  # alpha_A, some of those in the table
PRINTED = {0.5: 6.90, 0.7: 8.36, 0.9: 9.43, 1.2: 10.7, 1.6: 12.0, 2.0: 12.9, 3.0: 14.3, 4.0: 15.3}


def _ratio_grows(table: pd.DataFrame, varies: str) -> list[check.Comparison]:
    inside = table[(table["soft1"] > 0) & (table["soft2"] > 0)]
    return [
        check.exactly(f"({x1:g}, {x2:g}): (y2/y1) / (x2/x1)", (y2 / y1) / (x2 / x1), above=1.0)
        for x1, x2, y1, y2 in inside[["x1", "x2", "soft1", "soft2"]].to_numpy()
    ]


def _only_soft_moves(table: pd.DataFrame, varies: str) -> list[check.Comparison]:
    found = []
    for row in table[(table["soft1"] > 0) & (table["soft2"] > 0)].to_dict("records"):
        point = f"({row['x1']:g}, {row['x2']:g})"
        soft, hard = (
            float(np.hypot(row[f"{rule}1"] - row["x1"], row[f"{rule}2"] - row["x2"]))
            for rule in ("soft", "hard")
        )
        found.append(check.exactly(f"{point}: moved by soft thresholding", soft, above=0.1))
        found.append(check.exactly(f"{point}: moved by hard thresholding", hard, below=1e-12))
    return found


_DENSE = {"p_S": 0.8, "snr": None}
SOURCES = Study("r_a80n00", "sparse", _DENSE, "r", (5, 10, 15, 20, 30, 40), ALL, tau=0.0, sims=48)
OSCILLATIONS = Study(
    "oscillations", "sparse", _DENSE, "r", (40,), ("soft", "hard", "naive"), 0.0, None, convergence
)
MIXING = Study("Aalpha_r35a80", "sparse", {**_DENSE, "r": 35}, "alpha_A", SHAPES, ALL, tau=0.0, sims=48)
CONDITIONING = Study(
    "conditioning", "sparse", {"r": 35}, "alpha_A", tuple(PRINTED), ("truth",), 0.0, 48, conditioning, 48
)
BIAS = Study("bias", "sparse", _DENSE, "r", (15,), ("soft", "hard"), 0.0, None, compensation)
_on_sources = check.said_in("Sec. IV-C, item on figure r_a80n00")
_on_oscillations = check.said_in("Sec. IV-C, item on figure oscillations; Sec. IV-C-2")
_on_mixing = check.said_in("Sec. IV-C, item on figure Aalpha_r35a80")
_before_thresholds = check.said_in("Sec. IV-C-3, paragraph before figure soft-hard")
_after_thresholds = check.said_in("Sec. IV-C-3, paragraph after figure soft-hard")
_around_thresholds = check.said_in("Sec. IV-C-3, paragraphs before and after figure soft-hard")

EXPERIMENTS = (
    curves(
        SOURCES,
        "SDR against the number of sources (80 % active, noiseless)",
        _on_sources(
            "nGMCA^naive is better than ALS, for every number of sources.",
            check.ahead("naive", ("als",)),
        ),
        _on_sources(
            "With few sources nGMCA^S is behind nGMCA^H and nGMCA^naive (r = 5, 10 and 15).",
            check.together(
                check.ahead("hard", ("soft",), at=FEW), check.ahead("naive", ("soft",), at=FEW)
            ),
            why="With 5 sources nGMCA^S and nGMCA^H are both around 60 dB, and differ from one "
            "simulation to the next by more than from each other.",
        ),
        _on_sources(
            "With many sources nGMCA^S is far more robust than all the others (1 dB for r >= 30).",
            check.ahead("soft", OTHERS, at=(30, 40), by=1.0),
        ),
        _on_sources(
            "More sources are harder to separate, for every method (r = 5 against r = 40).",
            check.falls(ALL),
        ),
        _after_thresholds(
            "With few sources both nGMCA^S and nGMCA^H separate correctly (above 20 dB at r = 5).",
            check.together(
                check.measured("soft", "sdr", at=(5,), above=20.0),
                check.measured("hard", "sdr", at=(5,), above=20.0),
            ),
        ),
    ),
    Experiment(
        "oscillations",
        "Cost during the iterations (80 % active, r = 40, noiseless)",
        example_figures.cost_curves,
        OSCILLATIONS,
        Example("oscillations_example", measures.cost_curves, OSCILLATIONS, 40),
        claims=(
            check.Claim(
                "nGMCA^S converges to a lower cost than nGMCA^H.",
                "Sec. IV-C, item on figure oscillations",
                check.ahead("hard", ("soft",), measure="cost"),
            ),
            _on_oscillations(
                "nGMCA^naive does not converge: more than 1 in 20 of its last 100 steps raise the cost.",
                check.measured("naive", "rises", above=0.05),
            ),
            _on_oscillations(
                "nGMCA^S and nGMCA^H go on steadily: fewer than 1 in 100 of those steps raise it.",
                check.together(
                    check.measured("soft", "rises", below=0.01),
                    check.measured("hard", "rises", below=0.01),
                ),
            ),
        ),
    ),
    curves(
        MIXING,
        "SDR against the distribution of the mixing (r = 35, 80 % active, noiseless)",
        _on_mixing(
            "A sparser mixing makes it easier, for every method (alpha_A = 0.5 against 4).",
            check.falls(ALL),
        ),
        check.Claim(
            "nGMCA^S is more robust than the others to ill-conditioned mixing (alpha_A >= 2).",
            "Sec. IV-C, item on figure Aalpha_r35a80; Sec. IV-C-3, last paragraph",
            check.ahead("soft", OTHERS, at=(2.0, 4.0)),
        ),
    ),
    Experiment(
        "tab:conditioning",
        "Conditioning of the mixing (r = 35)",
        experiment_figures.conditioning(PRINTED),
        CONDITIONING,
        claims=(
            check.Claim(
                "The eight conditioning numbers of the table, each within 3 %.",
                "Table tab:conditioning",
                check.printed(PRINTED, measure="cond", within=0.03),
            ),
            _on_mixing(
                "The conditioning is better for a sparser mixing.",
                check.falls(("truth",), measure="cond", rises=True),
            ),
        ),
        remark="Columns of A are scaled to norm 1, which is how nGMCA sees them; the numbers match so.",
    ),
    Experiment(
        "soft-hard",
        "What soft and hard thresholds do to two coefficients",
        example_figures.thresholds,
        example=Example("soft_hard", measures.thresholded_points, BIAS, 15),
        claims=(
            _before_thresholds(
                "Where both coefficients stay, soft thresholding raises the ratio of the larger one.",
                _ratio_grows,
            ),
            _before_thresholds(
                "There soft thresholding moves the point and hard thresholding leaves it in place.",
                _only_soft_moves,
            ),
        ),
    ),
    Experiment(
        "correlationBias",
        "Correlation of found with true sources (nGMCA^S, r = 15, 80 % active, noiseless)",
        example_figures.correlation_matrix,
        BIAS,
        Example("correlation_bias", measures.correlation_matrix, BIAS, 15),
        claims=(
            _after_thresholds(
                "One estimate correlates with all true sources: its mean excess over the true "
                "correlations is above 0.05, while the median estimate has none (below 0.01).",
                check.together(
                    check.measured("soft", "leak_worst", above=0.05),
                    check.measured("soft", "leak_median", below=0.01),
                ),
            ),
            _around_thresholds(
                "Soft thresholding does it: the excess is smaller with nGMCA^H, by over 0.03.",
                check.ahead("soft", ("hard",), measure="leak_worst", by=0.03),
            ),
        ),
        remark="Sources are numbered as drawn, so that the one that compensates is not always number 5.",
    ),
    Experiment(
        "biasedSources",
        "Two true and found sources, one of which compensates for the others (nGMCA^S)",
        example_figures.biased_sources,
        BIAS,
        Example("biased_sources", measures.biased_sources, BIAS, 15),
        claims=(
            _after_thresholds(
                "The source that compensates has an offset: above 0.05 of its mean, where it is 0.",
                check.measured("soft", "offset_worst", above=0.05),
            ),
            _around_thresholds(
                "Soft thresholding does it: the offset is smaller with nGMCA^H, by over 0.1.",
                check.ahead("soft", ("hard",), measure="offset_worst", by=0.1),
            ),
        ),
    ),
)
