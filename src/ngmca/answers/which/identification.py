"""What an identification is: the matches of every source, and all of it in words."""

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from ngmca.answers.which.similarity import FEW
from ngmca.plotting import matches_plot as matches_view


@dataclass(frozen=True)
class Match:
    """A substance of the library that a source is like."""

    name: str
    similarity: float  # from 0 to 1
    shift: float  # of the source from the reference, in units of the axis
    chance: float  # how often chance does as well; Identification.chance_meaning says what that is
    confident: bool
    inverted: bool = False  # the source goes down where the reference goes up


@dataclass(frozen=True)
class Blend:
    """A source that two substances explain far better than one."""

    source: int
    names: tuple[str, str]
    weights: tuple[float, float]  # of their spectra at equal strength; they add up to 1
    similarity: float


@dataclass(frozen=True)
class Split:
    """Two sources whose sum is like one substance, as neither of them is."""

    sources: tuple[int, int]
    name: str
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """The best matches of every source in a library, how sure they are, and all of it in words."""

    matches: tuple[tuple[Match, ...], ...]  # for each source, the best first; none where it is flat
    blends: tuple[Blend, ...]
    splits: tuple[Split, ...]
    references: NDArray = field(repr=False)  # (r, n) the best match as the source has it; NaN unknown
    S: NDArray = field(repr=False)  # (r, n)
    axis: NDArray = field(repr=False)  # (n,)
    axis_label: str
    compared: tuple[float, float]  # ends of the range that was compared
    substances: int  # in the library, as far as they can be told apart
    left_out: tuple[str, ...]  # spectra of the library that were not compared, and why
    words: tuple[str, ...]  # all that is to be said, warnings included
    warnings: tuple[str, ...] = ()

    @property
    def claims(self) -> tuple[str | None, ...]:
        """The name of each source, None where it is not sure."""
        firsts = (found[0] if found else None for found in self.matches)
        return tuple(one.name if one and one.confident else None for one in firsts)

    @property
    def chance_meaning(self) -> str:
        """What the chance of a match means with this library, in a sentence."""
        if self.substances < FEW:
            return (
                "By chance: how often the bands of the source, put in other places, are as similar to a "
                f"spectrum of the library. From fewer than {FEW} substances it cannot be told how often "
                "another substance would be."
            )
        return (
            "By chance: how often a substance that is not in the library would be as similar to a "
            "spectrum of it."
        )

    def table(self) -> list[tuple[str, list[Any]]]:
        """Columns with one line a match: source, rank, name, similarity, shift, chance, confident."""
        lines = [(i + 1, k + 1, m) for i, found in enumerate(self.matches) for k, m in enumerate(found)]
        columns: list[tuple[str, list[Any]]] = [
            ("source", [i for i, _, _ in lines]),
            ("rank", [k for _, k, _ in lines]),
        ]
        told = ("name", "similarity", "shift", "chance", "confident")
        return columns + [(name, [getattr(m, name) for _, _, m in lines]) for name in told]

    def plot(self) -> Any:
        """A matplotlib figure: each source, and above it the spectrum of the library most like it."""
        firsts = [found[0] if found else None for found in self.matches]
        titles = [
            f"{one.name}, similarity {one.similarity:.2f}{'' if one.confident else ', not sure'}"
            if one
            else "nothing is like it"
            for one in firsts
        ]
        return matches_view.picture(self.S, self.references, titles, self.axis, self.axis_label)

    def __repr__(self) -> str:
        named = sum(name is not None for name in self.claims)
        return f"Identification: {named} of {len(self.S)} sources among {self.substances} substances"
