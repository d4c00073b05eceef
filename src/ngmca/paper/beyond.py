"""Beyond the paper: the posterior mean past the oracle, and where the library departs from the text."""

from dataclasses import replace

from ngmca.paper.application import MEASUREMENTS, NOISE_LEVELS
from ngmca.paper.claims import ahead, close, said_in
from ngmca.paper.experiments import curves
from ngmca.paper.measures import quality
from ngmca.paper.noisy import LEVELS, sparse_study

FOUR = ("default", "posterior", "oracle", "known")

VERY_SPARSE, SPARSE, DENSE = (
    sparse_study(f"posterior_a{percent}r15", "snr", LEVELS, FOUR, p_S=percent / 100, r=15)
    for percent in (10, 30, 50)
)
NMR_NOISE, NMR_FEW = (
    replace(study, name=f"posterior_{study.name}", methods=FOUR, measure=quality)
    for study in (NOISE_LEVELS, MEASUREMENTS)
)
VARIANTS = sparse_study(
    "variants", "snr", LEVELS, ("soft", "exact", "unbounded", "default"), p_S=0.3, r=15
)
_MANY = tuple(m for m in MEASUREMENTS.values if m >= 30)
_in_posterior = said_in("docs/explanations/posterior.md")
_in_algorithms = said_in("docs/explanations/algorithms.md")

EXPERIMENTS = (
    curves(
        VERY_SPARSE,
        "Past the oracle: SDR less that of the oracle (10 % active, r = 15)",
        _in_posterior(
            "The posterior mean is at least 1 dB above the oracle at 10, 15, 20 and 30 dB.",
            ahead("posterior", ("oracle",), at=(10, 15, 20, 30), by=1.0),
        ),
        beside="oracle",
    ),
    curves(
        SPARSE,
        "Past the oracle: SDR less that of the oracle (30 % active, r = 15)",
        _in_posterior(
            "The posterior mean is above the oracle at 15, 20 and 30 dB.",
            ahead("posterior", ("oracle",), at=(15, 20, 30)),
        ),
        _in_posterior(
            "At 10 dB it is less than 0.5 dB below the oracle.",
            ahead("posterior", ("oracle",), at=(10,), by=-0.5),
        ),
        beside="oracle",
    ),
    curves(
        DENSE,
        "Past the oracle: SDR less that of the oracle (50 % active, r = 15)",
        _in_posterior(
            "At 15 dB the posterior mean is less than 0.7 dB below the oracle.",
            ahead("posterior", ("oracle",), at=(15,), by=-0.7),
        ),
        beside="oracle",
    ),
    curves(
        NMR_NOISE,
        "Past the oracle: SDR against the noise (NMR spectra, m = 15, tau = 2)",
        _in_posterior(
            "The posterior mean is at least 1 dB above nGMCA^S at every level.",
            ahead("posterior", ("default",), by=1.0),
        ),
    ),
    curves(
        NMR_FEW,
        "Past the oracle: SDR against the number of measurements (NMR spectra, 15 dB, tau = 2)",
        _in_posterior(
            "The posterior mean is at least 1 dB above nGMCA^S for every number of measurements.",
            ahead("posterior", ("default",), by=1.0),
        ),
        _in_posterior(
            "It is at least 2 dB above nGMCA^S for m >= 30.",
            ahead("posterior", ("default",), at=_MANY, by=2.0),
        ),
        _in_posterior("It is above the oracle for m >= 30.", ahead("posterior", ("oracle",), at=_MANY)),
    ),
    curves(
        VARIANTS,
        "nGMCA^S by the letter and as the library runs it (30 % active, r = 15)",
        _in_algorithms(
            "80 sub-iterations are as good as exact sub-problems (within 0.1 dB).",
            close("soft", "exact", within=0.1),
        ),
        _in_algorithms(
            'The default, n_iter="auto", is as good as 500 iterations (within 0.1 dB).',
            close("default", "exact", within=0.1),
        ),
        _in_algorithms(
            "Keeping the columns of A from growing in the refinement pays, at every level.",
            ahead("soft", ("unbounded",)),
        ),
        beside="exact",
    ),
)
