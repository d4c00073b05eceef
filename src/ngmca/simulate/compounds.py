"""Compounds with known 1H shifts and couplings: the file `compounds.toml` as records."""

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from ngmca._support.messages import ArgumentError, ArgumentTypeError, option

SPIN_STATES = {"31P": 2, "14N": 3}  # of the nuclei that protons couple to


@dataclass(frozen=True)
class System:
    """Protons that may couple to each other, by label.

    Attributes
    ----------
    ppm : dict
        Shift of each label in ppm.
    protons : dict
        Number of equivalent protons of each label.
    J : dict
        Couplings of pairs of labels in Hz.
    nuclei : dict
        Other nuclei that protons couple to, such as "31P".
    exchangeable : frozenset
        Labels of protons that exchange with heavy water and do not show.
    """

    ppm: dict[str, float]
    protons: dict[str, int]
    J: dict[tuple[str, str], float]
    nuclei: dict[str, str] = field(default_factory=dict)
    exchangeable: frozenset[str] = frozenset()

    @property
    def visible(self) -> tuple[str, ...]:
        """Labels of the protons that show in heavy water."""
        return tuple(label for label in self.ppm if label not in self.exchangeable)

    def coupling(self, a: str, b: str) -> float:
        """The coupling of two labels in Hz, 0 where none is listed."""
        return self.J.get((a, b), self.J.get((b, a), 0.0))


@dataclass(frozen=True)
class Compound:
    """A molecule.

    Attributes
    ----------
    name : str
        Its name.
    sources : tuple of str
        Publications of its shifts and couplings.
    systems : tuple of System
        Its protons.
    """

    name: str
    sources: tuple[str, ...]
    systems: tuple[System, ...]

    @property
    def protons(self) -> int:
        """The number of protons that show in heavy water."""
        return sum(part.protons[label] for part in self.systems for label in part.visible)


def compounds() -> tuple[str, ...]:
    """Return the names of the built-in compounds.

    Returns
    -------
    tuple of str
        Names that `nmr`, `spectrum` and `peaks` accept.

    Examples
    --------
    >>> from ngmca.simulate import compounds
    >>> "alanine" in compounds()
    True
    """
    return tuple(library())


@cache
def library() -> dict[str, Compound]:
    """Return all built-in compounds by name."""
    with resources.files("ngmca.simulate").joinpath("compounds.toml").open("rb") as file:
        content = tomllib.load(file)
    sources = content.pop("sources")
    return {name: _compound(name, entry, sources) for name, entry in content.items()}


def find(name: Any) -> Compound:
    """Return the compound of this name, in any case; the error for an unknown name suggests others."""
    if not isinstance(name, str):
        raise ArgumentTypeError("{} must be a name, got {!r}.", option("compound"), name)
    known = {key.lower(): compound for key, compound in library().items()}
    if name.strip().lower() not in known:
        near = difflib.get_close_matches(name.strip().lower(), known, n=3)
        hint = f"did you mean {' or '.join(known[key].name for key in near)}? " if near else ""
        raise ArgumentError(
            "no compound {!r} in the library: {}ngmca.simulate.compounds() lists them; for others, pass "
            "a peak table ({}).",
            *(name, hint, option("peaks")),
        )
    return known[name.strip().lower()]


def _compound(name: str, entry: dict[str, Any], sources: dict[str, str]) -> Compound:
    systems = tuple(_system(name, part) for part in entry["system"])
    return Compound(name, tuple(sources[key] for key in entry["source"]), systems)


def _system(name: str, entry: dict[str, Any]) -> System:
    ppm, nuclei = entry["ppm"], entry.get("nuclei", {})
    J = {(a, b): value for a, row in entry.get("J", {}).items() for b, value in row.items()}
    exchangeable = frozenset(entry.get("exchangeable", ()))
    protons = dict.fromkeys(ppm, 1) | entry.get("protons", {})
    named = {label for pair in J for label in pair} - set(nuclei) | set(protons) | exchangeable
    if named != set(ppm):
        raise ValueError(f"{name}: {', '.join(sorted(named - set(ppm)))} has no shift under ppm.")
    if not set(nuclei.values()) <= set(SPIN_STATES):
        raise ValueError(f"{name}: nuclei must be among {', '.join(SPIN_STATES)}, got {nuclei}.")
    return System(ppm, protons, J, nuclei, exchangeable)
