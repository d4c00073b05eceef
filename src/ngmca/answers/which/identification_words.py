"""Words about an identification."""

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.which.comparison import Comparison
from ngmca.answers.which.identification import Blend, Match, Split
from ngmca.answers.wording import listed, percent

WHOLE = 0.9  # of the channels: less is told
AS_GOOD = 0.01  # difference of similarity that is told


def sentences(matches: tuple[tuple[Match, ...], ...], *, few: bool) -> list[str]:
    """A sentence about every source; from a few spectra chance is another."""
    does = "the same bands elsewhere do as well" if few else "chance does as well"
    return [_sentence(i + 1, found, does) for i, found in enumerate(matches)]


def cautions(
    matches: tuple[tuple[Match, ...], ...], blends: tuple[Blend, ...], splits: tuple[Split, ...]
) -> list[str]:
    """Sentences about sources that are two substances, or one."""
    said = []
    for one in blends:
        pairs = zip(one.names, one.weights, strict=True)
        parts = listed([f"{name} ({percent(weight)})" for name, weight in pairs])
        said.append(
            f"Source {one.source + 1} looks like two substances, {parts}: their sum is alike to "
            f"{one.similarity:.2f}. One more source may separate them."
        )
    for two in splits:
        i, j = (k + 1 for k in two.sources)
        said.append(
            f"Sources {i} and {j} look like parts of one substance, {two.name}: their sum is alike "
            f"to {two.similarity:.2f}. One source less may join them."
        )
    claims = [found[0].name if found and found[0].confident else "" for found in matches]
    twice = {name for name in claims if claims.count(name) > 1}
    for name in sorted(twice - {""} - {two.name for two in splits}):
        same = [i + 1 for i, claim in enumerate(claims) if claim == name]
        said.append(f"Sources {listed(same)} are all like {name}: they may be one.")
    return said


def _sentence(number: int, found: tuple[Match, ...], does: str) -> str:
    if not found:
        return f"Source {number} has no structure where the library is known: nothing is like it."
    best = found[0]
    turned = ", upside down" if best.inverted else ""
    often = percent(best.chance)
    told = f"similarity {best.similarity:.2f}{turned}; {does} in {often} of cases"
    if not best.confident:
        return f"Source {number} is most like {best.name}, but not surely so ({told})."
    others = [one.name for one in found[1:] if one.similarity > best.similarity - AS_GOOD]
    rivals = f" (or {listed(others)}, as alike)" if others else ""
    return f"Source {number} is {best.name}{rivals}: {told}."


def doubts(compared: Comparison, axis: NDArray, left_out: tuple[str, ...]) -> list[str]:
    """What makes all of the matches less sure."""
    said = []
    low, high = compared.ends
    inside = float(np.mean((axis >= low) & (axis <= high)))
    if inside < WHOLE:
        said.append(
            f"Only {low:g} to {high:g} was compared, {percent(inside)} of the channels: most of the "
            "library knows no more."
        )
    if compared.few:
        count = f"{compared.substances} substance{'s' if compared.substances > 1 else ''}"
        said.append(
            f"With {count} in the library nobody can tell how alike others are: chance says only how "
            f"often bands in other places do as well, and a sure match needs a similarity of "
            f"{compared.needed:.3g}."
        )
    if left_out:
        more = f" And {len(left_out) - 1} more." if len(left_out) > 1 else ""
        said.append(f"Left out of the library: {left_out[0]}{more}")
    return said
