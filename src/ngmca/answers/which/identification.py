"""The best matches of every source in a reference library."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from numpy.typing import NDArray

from ngmca.answers.which.similarity import MIN_SUBSTANCES
from ngmca.plotting.answer_plots import matches_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Match:
    """A substance of the library that is similar to a source.

    Attributes
    ----------
    name : str
        Name of the substance.
    similarity : float
        From 0 to 1.
    shift : float
        Shift of the source against the reference, in units of the axis.
    chance : float
        How often chance gives as good a match; `Identification.chance_meaning` says what that means.
    confident : bool
        Whether the match is good and hardly due to chance.
    inverted : bool
        Whether the source goes down where the reference goes up.
    """

    name: str
    similarity: float
    shift: float
    chance: float
    confident: bool
    inverted: bool = False


@dataclass(frozen=True)
class Blend:
    """A source that two substances explain far better than one.

    Attributes
    ----------
    source : int
        The source, from 0.
    names : tuple of str
        The two substances.
    weights : tuple of float
        Weights of their spectra, each scaled to the same strength; they add up to 1.
    similarity : float
        Similarity of the source to the sum of both.
    """

    source: int
    names: tuple[str, str]
    weights: tuple[float, float]
    similarity: float


@dataclass(frozen=True)
class Split:
    """Two sources whose sum is similar to one substance, while neither of them is.

    Attributes
    ----------
    sources : tuple of int
        The two sources, from 0.
    name : str
        The substance.
    similarity : float
        Similarity of the sum to the substance.
    """

    sources: tuple[int, int]
    name: str
    similarity: float


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """The best matches of every source in a library, as `ngmca.identify` returns them.

    Attributes
    ----------
    matches : tuple of tuple of Match
        For each source its best matches, the best first; empty for a flat source.
    blends : tuple of Blend
        Sources that look like two substances.
    splits : tuple of Split
        Pairs of sources that look like parts of one substance.
    references : ndarray of shape (r, n)
        The best match of each source with the scale and baseline of the source; NaN where unknown.
    S : ndarray of shape (r, n)
        The sources.
    axis : ndarray of shape (n,)
        Positions of the channels.
    axis_label : str
        Name and unit of the axis.
    compared : tuple of float
        Ends of the range that was compared.
    substances : int
        Number of substances in the library.
    left_out : tuple of str
        Spectra of the library that were not compared, with the reasons.
    words : tuple of str
        All results in sentences, including the warnings.
    warnings : tuple of str
        Reasons why names may be wrong.

    Examples
    --------
    >>> import numpy as np
    >>> import ngmca
    >>> mixture = ngmca.simulate.spectra(m=20, n=300, r=2, snr=30, seed=0)
    >>> found = ngmca.separate(mixture.Y, 2, seed=0)
    >>> axis = np.linspace(400, 4000, 300)
    >>> library = {"first": (axis, mixture.S[0]), "second": (axis, mixture.S[1])}
    >>> result = ngmca.identify(found, library, axis=axis)
    >>> sorted(result.claims)
    ['first', 'second']
    >>> [name for name, column in result.table()]
    ['source', 'rank', 'name', 'similarity', 'shift', 'chance', 'confident']
    """

    matches: tuple[tuple[Match, ...], ...]
    blends: tuple[Blend, ...]
    splits: tuple[Split, ...]
    references: NDArray = field(repr=False)
    S: NDArray = field(repr=False)
    axis: NDArray = field(repr=False)
    axis_label: str
    compared: tuple[float, float]
    substances: int
    left_out: tuple[str, ...]
    words: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def claims(self) -> tuple[str | None, ...]:
        """The name of each source, None where no match is confident."""
        firsts = (found[0] if found else None for found in self.matches)
        return tuple(one.name if one and one.confident else None for one in firsts)

    @property
    def chance_meaning(self) -> str:
        """What the chance of a match means with this library, in words."""
        if self.substances < MIN_SUBSTANCES:
            return (
                "By chance: how often the bands of the source, moved to other positions, are as similar "
                f"to a spectrum of the library. With fewer than {MIN_SUBSTANCES} substances it is not "
                "possible to say how often another substance would be."
            )
        return (
            "By chance: how often a substance that is not in the library would be as similar to one of "
            "its spectra."
        )

    def table(self) -> list[tuple[str, list[object]]]:
        """Return names and columns of a table with one row for each match."""
        rows = [(i + 1, k + 1, m) for i, found in enumerate(self.matches) for k, m in enumerate(found)]
        fields = ("name", "similarity", "shift", "chance", "confident")
        return [
            ("source", [i for i, _, _ in rows]),
            ("rank", [k for _, k, _ in rows]),
            *((name, [getattr(match, name) for _, _, match in rows]) for name in fields),
        ]

    def plot(self) -> "Figure":
        """Return a matplotlib figure: each source, and above it the most similar spectrum."""
        titles = []
        for found in self.matches:
            doubt = "" if not found or found[0].confident else ", uncertain"
            titles.append(
                f"{found[0].name}, similarity {found[0].similarity:.2f}{doubt}" if found else "no match"
            )
        return matches_picture(self.S, self.references, titles, self.axis, self.axis_label)

    def __repr__(self) -> str:
        named = sum(name is not None for name in self.claims)
        return f"Identification: {named} of {len(self.S)} sources among {self.substances} substances"
