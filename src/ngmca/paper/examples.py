"""One simulation in detail: functions that return tidy tables."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ngmca import metrics
from ngmca.metrics import unit_rows
from ngmca.nnqp import prox
from ngmca.paper.measures import leaks
from ngmca.paper.methods import METHODS, Trial

if TYPE_CHECKING:
    import pandas as pd

POINTS = ((1.5, 2.6), (0.45, 2.0), (2.4, 0.6))  # two large coefficients, or one


def cost_curves(trial: Trial) -> "pd.DataFrame":
    """Return the cost after each iteration of the nGMCA methods."""
    import pandas as pd

    curves = []
    for method in ("soft", "hard", "naive"):
        cost = 2 * METHODS[method].run(trial).history.cost  # type: ignore[attr-defined]
        iteration = np.arange(1, len(cost) + 1)
        curves.append(pd.DataFrame({"method": method, "iteration": iteration, "cost": cost}))
    return pd.concat(curves)


def correlation_matrix(trial: Trial) -> "pd.DataFrame":
    """Return normalised scalar products of estimates with references."""
    import pandas as pd

    S, found = _estimates(trial)
    value = unit_rows(found) @ unit_rows(S).T
    estimated, reference = np.indices(value.shape) + 1
    return pd.DataFrame(
        {"estimated": estimated.ravel(), "reference": reference.ravel(), "value": value.ravel()}
    )


def biased_sources(trial: Trial) -> "pd.DataFrame":
    """Return the source that leaks most and the next one, true and found, in the first 80 channels."""
    import pandas as pd

    S, found = _estimates(trial)
    worst = int(np.argmax(leaks(S, found)))
    sample = np.arange(1, 81)
    return pd.concat(
        pd.DataFrame({"source": i + 1, "sample": sample, "true": S[i, :80], "found": found[i, :80]})
        for i in (worst, (worst + 1) % len(S))
    )


def _estimates(trial: Trial) -> tuple[NDArray, NDArray]:
    """Return references, and the estimates of nGMCA^S in their order and scale."""
    score = metrics.evaluate(trial.mixture.S, METHODS["soft"].run(trial).S)
    return trial.mixture.S, score.S


def thresholded_points(trial: Trial) -> "pd.DataFrame":
    """Return three points before and after thresholds of 1; the simulation has no influence."""
    import pandas as pd

    x = np.array(POINTS)
    columns = np.hstack([x, prox.nonnegative_soft(x, 1.0), prox.nonnegative_hard(x, 1.0)])
    return pd.DataFrame(columns, columns=["x1", "x2", "soft1", "soft2", "hard1", "hard2"])


def nmr_spectra(trial: Trial) -> "pd.DataFrame":
    """Return all spectra."""
    import pandas as pd

    data = trial.mixture
    return pd.concat(
        pd.DataFrame({"compound": name, "ppm": data.axis, "intensity": row})
        for name, row in zip(data.names, data.S, strict=True)
    )


def nmr_mixture(trial: Trial) -> "pd.DataFrame":
    """Return the measurement in which one compound has the largest share, and that compound."""
    import pandas as pd

    data = trial.mixture
    amount = data.A * np.linalg.norm(data.S, axis=1)
    share = amount / amount.sum(axis=1, keepdims=True)
    i, j = np.unravel_index(np.argmax(share), share.shape)
    main = data.A[i, j] * data.S[j]
    return pd.DataFrame(
        {"ppm": data.axis, "measured": data.Y[i], "main": main, "compound": data.names[j]}
    )


def nmr_reconstruction(trial: Trial) -> "pd.DataFrame":
    """Return a true spectrum and two estimates of it: the one with the median gain, not the best."""
    import pandas as pd

    data = trial.mixture
    scores = {
        name: metrics.evaluate(data.S, METHODS[name].run(trial).S) for name in ("soft", "sparse_hals")
    }
    gain = scores["soft"].sdr - scores["sparse_hals"].sdr
    j = int(np.argsort(gain)[len(gain) // 2])
    found = {name: score.S[j] for name, score in scores.items()}
    sdr = {f"sdr_{name}": score.sdr[j] for name, score in scores.items()}
    return pd.DataFrame({"ppm": data.axis, "compound": data.names[j], "true": data.S[j]} | found | sdr)
