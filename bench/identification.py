"""How often sources are named rightly, and how often wrongly where their substance is not in the library.

    python bench/identification.py [--seeds 16] [--first 0] [--forms] [--invented] [--picture docs/pictures/which.png]

Infrared: 40 mixtures of 5 compounds at 25 dB, against all files of the `jcamp` sdist, read as they are. NMR: 40
mixtures of 8 of the 36 built-in compounds at 25 dB, against all of them. "Absent": the same sources against the library
without the compound in question, under any of its names. Six compounds are there twice, five of them from other
instruments. "Blurred": sources convolved to a width of 10 channels at half maximum; "noisy": with 1 % of noise.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d

import ngmca
from ngmca import simulate
from ngmca.answers.which import similarity as likeness
from ngmca.answers.which.library import open_library

sys.path.insert(0, str(Path(__file__).parent))
import infrared
import real_data

SAME = [
    {"butane", "n-butane"},
    {"butadiene", "1,3-butadiene"},
    {"1,3-dimethylbenzene", "m-xylene"},
    {"1,4-dimethylbenzene", "p-xylene"},
    {"ethanol", "ethanol2"},
    {"isopropanol_ASDF", "isopropyl alcohol"},
]
Library = dict[str, tuple[NDArray, NDArray]]
Found = tuple[NDArray, tuple[str, ...]]  # sources, and what each is


def same(name: str) -> set[str]:
    """All names of a compound."""
    return next((names for names in SAME if name in names), {name})


def without(library: Library, name: str) -> Library:
    """A library in which a compound is under none of its names."""
    return {key: value for key, value in library.items() if key not in same(name)}


def separated(kind: str, seeds: range) -> Iterator[Found]:
    """Sources of a mixture for each seed, in the order of the compounds they stand for."""
    for seed in seeds:
        if kind == "infrared":
            mixture = infrared.infrared(m=40, r=5, snr=25, seed=seed)
        else:
            mixture = simulate.nmr(m=40, r=8, compounds="random", snr=25, seed=seed)
        found = ngmca.separate(mixture.Y, len(mixture.S), seed=0, n_init=1)
        order = ngmca.evaluate(mixture.S, found.S).order
        yield found.S[order], mixture.names


def named(sources: list[Found], library: Library, axis: NDArray) -> dict[str, float]:
    """Shares of the sources that are named rightly with the whole library."""
    hits = []
    for S, names in sources:
        found = ngmca.identify(S, library, axis=axis)
        for name, best, claim in zip(names, found.matches, found.claims, strict=True):
            five = [match.name for match in best]
            hits.append((five[0] == name, five[0] in same(name), name in five, claim in same(name),
                         claim is not None and claim not in same(name)))  # fmt: skip
    words = ("first", "first or its double", "among five", "claimed rightly", "claimed wrongly")
    return dict(zip(words, np.mean(hits, axis=0).tolist(), strict=True))


def harder(sources: list[Found], how: str) -> list[Found]:
    """The same sources as an instrument of less resolution, or of more noise, would have them."""
    rng = np.random.default_rng(0)
    if how == "blurred":
        return [(gaussian_filter1d(S, 10 / 2.3548, axis=1), names) for S, names in sources]
    return [
        (S + 0.01 * S.max(axis=1, keepdims=True) * rng.standard_normal(S.shape), names)
        for S, names in sources
    ]


def absent(sources: list[Found], library: Library, axis: NDArray) -> tuple[float, set[str]]:
    """Share of the sources that are claimed though their substance is not in the library, and what for."""
    claims = [
        (name, ngmca.identify(S[i : i + 1], without(library, name), axis=axis).claims[0])
        for S, names in sources
        for i, name in enumerate(names)
    ]
    wrong = [f"{name} as {claim}" for name, claim in claims if claim is not None]
    return len(wrong) / len(claims), set(wrong)


def small(sources: list[Found], library: Library, axis: NDArray, size: int) -> tuple[float, float]:
    """Shares of claims in a library of a few, with the substance in question and without."""
    rng = np.random.default_rng(size)
    claims = []
    for S, names in sources:
        for i, name in enumerate(names):
            others = sorted(key for key in without(library, name) if not key.startswith("example"))
            drawn = {key: library[key] for key in rng.permutation(others)[:size].tolist()}
            there = dict(list(drawn.items())[1:]) | {name: library[name]}
            found = [ngmca.identify(S[i : i + 1], one, axis=axis).claims[0] for one in (there, drawn)]
            claims.append((found[0] == name, found[1] is not None))
    return tuple(np.mean(claims, axis=0).tolist())


def in_two(source: NDArray) -> tuple[NDArray, NDArray]:
    """A source as two, cut where 40 % of its energy lie on one side."""
    first = np.cumsum(source**2) <= 0.4 * np.sum(source**2)
    return source * first, source * ~first


def twos(sources: list[Found], library: Library, axis: NDArray) -> dict[str, float]:
    """Shares of sums of two sources told as such, of halves of one, and of false alarms."""
    blends, splits, alarms = [], [], []
    for S, names in sources:
        unit = S / np.linalg.norm(S, axis=1, keepdims=True)
        mixed = ngmca.identify(unit[:1] + unit[1:2], library, axis=axis).blends
        told = set(mixed[0].names) if mixed else set()
        blends.append(bool(told & same(names[0])) and bool(told & same(names[1])))
        halves = np.vstack([*in_two(S[0]), S[1:]])
        parts = ngmca.identify(halves, library, axis=axis).splits
        splits.append(any(one.sources == (0, 1) and one.name in same(names[0]) for one in parts))
        plain = ngmca.identify(S, library, axis=axis)
        alarms.append((len(plain.blends) / len(S), len(plain.splits) / len(S)))
    wrong = np.mean(alarms, axis=0)
    return {
        "two in one seen": float(np.mean(blends)),
        "one in two seen": float(np.mean(splits)),
        "false two in one, a source": float(wrong[0]),
        "false one in two, a source": float(wrong[1]),
    }


def libraries() -> dict[str, tuple[Library, NDArray]]:
    """Both libraries, and the axes of the mixtures."""
    found = open_library(real_data.infrared(), "cm-1")
    print(f"{len(found.references)} infrared spectra were read; left out: {found.left_out or 'none'}.")
    spectra = {one.name: (one.axis, one.values) for one in found.references}
    shifts = {name: simulate.spectrum(name) for name in simulate.compounds()}
    return {
        "infrared": (spectra, np.linspace(*infrared.RANGE, 1024)),
        "NMR": (shifts, next(iter(shifts.values()))[0]),
    }


def picture(path: Path) -> None:
    """Sources of one infrared mixture above their references."""
    mixture = infrared.infrared(m=40, r=5, snr=25, seed=5)
    found = ngmca.separate(mixture.Y, 5, seed=0, n_init=1)
    axis = np.linspace(*infrared.RANGE, 1024)
    named = ngmca.identify(found, real_data.infrared(), axis=axis, unit="cm-1")
    print("mixed:", ", ".join(mixture.names), *named.words, sep="\n")
    named.plot().savefig(path, dpi=100)


def broad() -> tuple[list[Found], Library, NDArray]:
    """60 spectra of one to four broad bands, as those of dyes, and one source of each with 1 % of noise."""
    rng = np.random.default_rng(0)
    axis = np.linspace(0, 1, 300)
    rows = []
    for _ in range(60):
        count = rng.integers(1, 5)
        places, widths = rng.random((count, 1)), rng.uniform(1 / 30, 1 / 8, (count, 1))
        rows.append(rng.exponential(1, count) @ np.exp(-0.5 * ((axis - places) / widths) ** 2))
    library = {f"dye {i}": (axis, row) for i, row in enumerate(rows)}
    return harder([(np.stack(rows), tuple(library))], "noisy"), library, axis


INVENTED = {  # width of the bands of 600 channels, how many, whether in families, sizes of libraries
    "narrow bands": (6, 6, False, (60,)),
    "families of narrow bands": (6, 6, True, (20, 60)),
    "two broad bands": (25, 2, False, (10, 60, 300)),
    "three broad bands": (25, 3, False, (300,)),
    "one broad band": (40, 1, False, (10, 60)),
}


def random_bands(rng: np.random.Generator, count: int, width: float, number: int) -> NDArray:
    """Spectra of random bands."""
    places = rng.uniform(20, 580, (count, number, 1))
    heights = rng.uniform(0.1, 1, (count, number, 1))
    return (heights * np.exp(-0.5 * ((np.arange(600) - places) / width) ** 2)).sum(axis=1)


def population(rng: np.random.Generator, kind: str, count: int) -> NDArray:
    """Spectra of one kind; in families of one to five, they share all but two bands of half the height."""
    width, number, related, _ = INVENTED[kind]
    rows = random_bands(rng, count, width, number)
    if related:
        rows = np.repeat(rows, rng.integers(1, 6, count), axis=0)[:count]
        rows = rng.permutation(rows + 0.5 * random_bands(rng, count, width, 2))
    return rows


def invented(kind: str, size: int, seeds: range) -> dict[str, float]:
    """Shares for five sources of a population against a library of others, and of these with them."""
    axis, counts = np.arange(600.0), []
    for seed in seeds:
        rng = np.random.default_rng([seed, size])
        rows = population(rng, kind, size + 5)
        library = {f"s{i}": (axis, row) for i, row in enumerate(rows)}
        others = {name: library[name] for name in list(library)[5:]}
        S = rows[:5] + 0.003 * rng.standard_normal((5, 600))
        gone, there = (ngmca.identify(S, some, axis=axis) for some in (others, library))
        unit = S / np.linalg.norm(S, axis=1, keepdims=True)
        mixed = ngmca.identify(unit[:1] + unit[1:2], library, axis=axis).blends
        right = [claim == f"s{i}" for i, claim in enumerate(there.claims)]
        counts.append((
            np.mean(right), np.mean([claim is not None for claim in gone.claims]), len(gone.blends) / 5,
            len(gone.splits) / 5, bool(mixed) and set(mixed[0].names) == {"s0", "s1"},
        ))  # fmt: skip
    words = ("claimed rightly", "absent, claimed", "false two in one", "false one in two", "sums told")
    return dict(zip(words, np.mean(counts, axis=0).tolist(), strict=True))


def forms(sources: list[Found], library: Library, axis: NDArray) -> None:
    """Print what other baselines and powers than the chosen ones would give."""
    chosen = likeness.BASELINE_WIDTH, likeness.POWER
    for broad in (1 / 10, 1 / 20, 1 / 50):
        for power in (0.5, 0.7, 1.0):
            likeness.BASELINE_WIDTH, likeness.POWER = broad, power
            shares = [
                (named(some, library, axis)["claimed rightly"], absent(some, library, axis)[0])
                for some in (sources, harder(sources, "noisy"))
            ]
            (right, gone), (noisy, gone_noisy) = shares
            print(f"  baseline {broad:.2f}, power {power}: claimed rightly {right:6.1%}, absent {gone:5.1%}; "
                  f"noisy {noisy:6.1%}, {gone_noisy:5.1%}")  # fmt: skip
    likeness.BASELINE_WIDTH, likeness.POWER = chosen


def told(shares: dict[str, float]) -> str:
    """Shares in one line."""
    return ", ".join(f"{words} {share:.1%}" for words, share in shares.items())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--forms", action="store_true", help="compare measures of similarity")
    parser.add_argument("--invented", action="store_true", help="libraries of random bands")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    if given.picture:
        picture(given.picture)
        return
    if given.invented:
        for kind, (_, _, _, sizes) in INVENTED.items():
            for size in sizes:
                print(f"{kind}, {size} in the library: {told(invented(kind, size, seeds))}", flush=True)
        return
    if given.forms:
        print("\nbroad bands: 60 sources, 60 names")
        forms(*broad())
    for kind, (library, axis) in libraries().items():
        sources = list(separated(kind, seeds))
        print(f"\n{kind}: {sum(len(S) for S, _ in sources)} sources, {len(library)} names")
        if given.forms:
            forms(sources, library, axis)
            continue
        for words, share in named(sources, library, axis).items():
            print(f"  {words:28} {share:6.1%}")
        gone, wrong = absent(sources, library, axis)
        print(f"  {'absent, claimed':28} {gone:6.1%} {', '.join(sorted(wrong))}")
        for how in ("blurred", "noisy"):
            shares, (gone, _) = (look(harder(sources, how), library, axis) for look in (named, absent))
            print(f"  {how}: {told(shares)}; absent, claimed {gone:.1%}")
        for words, share in twos(sources, library, axis).items():
            print(f"  {words:28} {share:6.1%}")
        for size in (1, 2, 5, 10, 20):
            there, gone = small(sources, library, axis, size)
            print(f"  of {size:2} spectra: claimed rightly {there:6.1%}, absent and claimed {gone:6.1%}")


if __name__ == "__main__":
    main()
