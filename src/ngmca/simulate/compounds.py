"""Compounds whose 1H shifts and couplings are known: the file `compounds.toml` as records."""

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

SPINS = {"31P": 2, "14N": 3}  # states of the nuclei that protons couple to


@dataclass(frozen=True)
class System:
    """Protons that may couple to each other, by label; shifts in ppm and couplings in Hz."""

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
    """A molecule: its parts, and where their numbers come from."""

    name: str
    sources: tuple[str, ...]
    systems: tuple[System, ...]

    @property
    def protons(self) -> int:
        """The number of protons that show in heavy water."""
        return sum(part.protons[label] for part in self.systems for label in part.visible)


def compounds() -> tuple[str, ...]:
    """The names of the built-in compounds."""
    return tuple(library())


@cache
def library() -> dict[str, Compound]:
    """All built-in compounds by name."""
    with resources.files("ngmca.simulate").joinpath("compounds.toml").open("rb") as file:
        content = tomllib.load(file)
    sources = content.pop("sources")
    return {name: _compound(name, entry, sources) for name, entry in content.items()}


def find(name: Any) -> Compound:
    """The compound of that name, in capitals or not; an unknown one gets an error with those alike."""
    if not isinstance(name, str):
        raise TypeError(f"a compound must be given by its name, got {name!r}.")
    known = {key.lower(): compound for key, compound in library().items()}
    if name.strip().lower() not in known:
        near = difflib.get_close_matches(name.strip().lower(), known, n=3)
        hint = f"did you mean {' or '.join(known[key].name for key in near)}? " if near else ""
        raise ValueError(
            f"no compound {name!r} in the library: {hint}ngmca.simulate.compounds() lists them; "
            "give a peak table for others."
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
    if not set(nuclei.values()) <= set(SPINS):
        raise ValueError(f"{name}: nuclei must be among {', '.join(SPINS)}, got {nuclei}.")
    return System(ppm, protons, J, nuclei, exchangeable)
