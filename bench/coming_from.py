"""The same job in other programs: `python bench/coming_from.py`, the table of docs/how-to/coming-from.md.

The job is the reaction of `ngmca.datasets`: 30 x 141, three substances. Printed are the smallest correlation of the true
with the found spectra and amounts, and processor time without imports, of the second of two runs. Programs that are not
installed are left out.
"""

import os
import time
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Callable

import numpy as np
import real_mixtures
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

import ngmca

SAMPLE = ngmca.datasets.reaction()
Y = np.asarray(SAMPLE.data.Y)
Factors = tuple[NDArray, NDArray]


def by_ngmca() -> Factors:
    found = ngmca.separate(Y, 3, threads=1)
    return found.A, found.S


def by_sklearn() -> Factors:
    model = NMF(3, init="nndsvda", max_iter=2000)
    return model.fit_transform(np.maximum(Y, 0)), model.components_


def by_pymcr() -> Factors:
    return real_mixtures.pymcr_factors(Y, 3)


def by_hyperspy() -> Factors:
    import hyperspy.api as hs

    signal = hs.signals.Signal1D(np.maximum(Y, 0))
    signal.decomposition(algorithm="NMF", output_dimension=3, print_info=False)
    return signal.get_decomposition_loadings().data.T, signal.get_decomposition_factors().data


PROGRAMS: dict[str, Callable[[], Factors]] = {
    "ngmca": by_ngmca, "scikit-learn NMF": by_sklearn, "pyMCR": by_pymcr, "HyperSpy, NMF": by_hyperspy,
}  # fmt: skip


def smallest(found: NDArray, true: NDArray) -> float:
    """Smallest correlation of rows, one to one."""
    close = np.nan_to_num(np.corrcoef(found, true)[: len(found), len(found) :])
    return float(close[linear_sum_assignment(-close)].min())


if __name__ == "__main__":
    print("| program | spectra | amounts | seconds |\n|---|---|---|---|")
    warnings.simplefilter("ignore")
    for name, work in PROGRAMS.items():
        try:
            work()
        except ImportError:
            continue
        begun = time.process_time()
        A, S = work()
        spent = time.process_time() - begun
        print(
            f"| {name} | {smallest(S, SAMPLE.S):.3f} | {smallest(A.T, SAMPLE.A.T):.3f} | {spent:.2f} |"
        )
