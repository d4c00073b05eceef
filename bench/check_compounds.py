"""Every difference of `compounds.toml` from the metabolites of vespa-suite: `python bench/check_compounds.py`.

Takes the path of a wheel of vespa-suite, or downloads version 1.1.0 with pip. Labels are ours, so that spins
are compared in their order; couplings among protons of one label do not show in spectra and are not compared,
but such protons must have one shift and the same couplings to all others. Exit code 1 if anything differs.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

from ngmca.simulate.compounds import System, library

LIST = "vespa/common/resources/metabolites.xml"
NAMES = {  # where a compound has another name there, or is in several parts
    "alpha-glucose": ["glucose-alpha"],
    "ATP": ["atp-adenosine", "atp-ribose"],
    "beta-glucose": ["glucose-beta"],
    "choline": ["choline-methylene", "choline-trimethyl"],
    "GABA": ["gaba"],
    "glutathione": ["glutathione-glutamate", "glutathione-glycine-cysteine"],
    "glycerophosphocholine": ["GPC-gp", "GPC-pcholine1", "GPC-pcholine2"],
    "N-acetylaspartate": ["n-acetylaspartate"],
    "phosphocholine": ["phosphorylcholine-notrimethyl", "phosphorylcholine-trimethyl"],
    "phosphoethanolamine": ["phosphorylethanolamine"],
}
Spins = tuple[list[tuple[str, float]], dict[tuple[int, int], float]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", nargs="?", type=Path, help="a wheel of vespa-suite")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        theirs = read(args.wheel or download(Path(folder)))
    found, shifts, couplings = [], 0, 0
    for name, compound in library().items():
        entries = NAMES.get(name, [name])
        if len(entries) != len(compound.systems):
            found.append(f"{name}: {len(compound.systems)} systems, there {len(entries)}")
        for entry, system in zip(entries, compound.systems, strict=False):
            found += [f"{name}: {text}" for text in differences(system, theirs[entry])]
            shifts += sum(isotope == "1H" for isotope, _ in theirs[entry][0])
            couplings += sum(value != 0 for value in theirs[entry][1].values())
    used = {entry for name in library() for entry in NAMES.get(name, [name])}
    print(*found, sep="\n", end="\n" if found else "")
    print(f"not taken: {', '.join(sorted(set(theirs) - used))}")
    print(
        f"{len(library())} compounds, {shifts} shifts and {couplings} couplings there that are not 0: "
        f"{len(found)} difference(s)"
    )
    return 1 if found else 0


def download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "vespa-suite==1.1.0"]
    subprocess.run(command, cwd=folder, check=True)
    return next(folder.glob("*.whl"))


def read(wheel: Path) -> dict[str, Spins]:
    """Isotopes and shifts, and couplings by pairs of places, of each entry."""
    with zipfile.ZipFile(wheel) as archive:
        root = ElementTree.fromstring(archive.read(LIST))
    entries = {}
    for entry in root.iter("metabolite"):
        spins = [
            (x.findtext("isotope"), float(x.findtext("chemical_shift"))) for x in entry.iter("spin")
        ]
        values = [float(x.text) for x in entry.iter("j_coupling")]
        pairs = itertools.combinations(range(len(spins)), 2)  # rows of the upper triangle
        entries[entry.findtext("name")] = spins, dict(zip(pairs, values, strict=True))
    return entries


def differences(system: System, entry: Spins) -> list[str]:
    """What differs between a system of ours and an entry of theirs, in words."""
    spins, values = entry
    labels = [label for label in system.ppm for _ in range(system.protons[label])]
    theirs = [ppm for isotope, ppm in spins if isotope == "1H"]
    if len(labels) != len(theirs):
        return [f"{len(labels)} protons, there {len(theirs)}"]
    found = [
        f"{label} at {system.ppm[label]} ppm, there {ppm}"
        for label, ppm in zip(labels, theirs, strict=True)
        if system.ppm[label] != ppm
    ]
    absent = set(system.nuclei.values()) - {isotope for isotope, _ in spins}
    found += [f"{isotope}, there none" for isotope in absent]
    by_isotope = {isotope: label for label, isotope in system.nuclei.items()}
    place = iter(labels)
    ours = [next(place) if isotope == "1H" else by_isotope.get(isotope, isotope) for isotope, _ in spins]
    for (i, j), value in values.items():
        a, b = ours[i], ours[j]
        if a != b and system.coupling(a, b) != value:
            found.append(f"J({a}, {b}) = {system.coupling(a, b)} Hz, there {value}")
    return found


if __name__ == "__main__":
    sys.exit(main())
