"""Sentences about an identification."""

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.which.comparison import Comparison
from ngmca.answers.which.identification import Blend, Match, Split
from ngmca.answers.wording import counted, listed, percent


def sentences(matches: tuple[tuple[Match, ...], ...], *, few: bool) -> list[str]:
    """Return one sentence for each source; with `few` library spectra chance means something else."""
    subject = "its bands at other positions" if few else "another substance"
    return [_sentence(i + 1, found, subject) for i, found in enumerate(matches)]


def _sentence(number: int, found: tuple[Match, ...], subject: str) -> str:
    if not found:
        return f"Source {number} has no bands in the range of the library: there is no match."
    best = found[0]
    inverted = ", inverted" if best.inverted else ""
    quality = (
        f"similarity {best.similarity:.2f}{inverted}; {subject} would match as well in "
        f"{percent(best.chance)} of cases"
    )
    if not best.confident:
        return f"Source {number} is most similar to {best.name}, but this is uncertain ({quality})."
    others = [one.name for one in found[1:] if one.similarity > best.similarity - 0.01]
    rivals = f" (or {listed(others)}, equally similar)" if others else ""
    return f"Source {number} is {best.name}{rivals}: {quality}."


def cautions(
    matches: tuple[tuple[Match, ...], ...], blends: tuple[Blend, ...], splits: tuple[Split, ...]
) -> list[str]:
    """Return sentences about sources that look like two substances, or like parts of one."""
    found = []
    for blend in blends:
        pairs = zip(blend.names, blend.weights, strict=True)
        parts = listed([f"{name} ({percent(weight)})" for name, weight in pairs])
        found.append(
            f"Source {blend.source + 1} looks like two substances, {parts}: the similarity to their sum "
            f"is {blend.similarity:.2f}. Try one source more to separate them."
        )
    for split in splits:
        i, j = (k + 1 for k in split.sources)
        found.append(
            f"Sources {i} and {j} look like parts of one substance, {split.name}: the similarity of "
            f"their sum is {split.similarity:.2f}. Try one source less to join them."
        )
    claims = [best[0].name if best and best[0].confident else "" for best in matches]
    twice = {name for name in claims if claims.count(name) > 1}
    for name in sorted(twice - {""} - {split.name for split in splits}):
        same = [i + 1 for i, claim in enumerate(claims) if claim == name]
        found.append(f"Sources {listed(same)} all match {name}: they may be one substance.")
    return found


def limitations(compared: Comparison, axis: NDArray, left_out: tuple[str, ...]) -> list[str]:
    """Return reasons why all matches are less certain."""
    found = []
    low, high = compared.ends
    inside = float(np.mean((axis >= low) & (axis <= high)))
    if inside < 0.9:
        found.append(
            f"Only the range from {low:g} to {high:g} was compared, {percent(inside)} of the channels: "
            "most spectra of the library do not cover more."
        )
    if compared.few:
        found.append(
            f"The library has only {counted(compared.substances, 'substance')}. The chance therefore "
            "only says how often bands at other positions match as well, and a confident match needs a "
            f"similarity of at least {compared.needed:.3g}."
        )
    if left_out:
        more = f" And {len(left_out) - 1} more." if len(left_out) > 1 else ""
        found.append(f"Not compared: {left_out[0]}{more}")
    return found
