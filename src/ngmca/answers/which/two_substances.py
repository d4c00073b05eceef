"""Two substances in one source, one substance in two sources: told where chance rarely does as well."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.which.comparison import Comparison
from ngmca.answers.which.identification import Blend, Match, Split
from ngmca.answers.which.similarity import HIGH, NEARER, SURE, alike, by_two, moved

MOST = 300  # spectra of which every pair is tried for a source that may be two substances
FAR_BETTER = 0.25  # two spectra leave at most that share of what one leaves
LEAST = 0.1  # share of the lesser of two
RARE = SURE / 2  # told where chance does as well no more often: half for each of both kinds
TRIED = 100  # substances that are each tried as a sum of two others, to see what chance does
PAIRS = 2000  # and pairs of substances that are tried as parts of another


@dataclass(frozen=True)
class _Two:
    """The best sum of two; `score` is 0 where one alone is nearly as good."""

    score: float
    first: int
    second: int
    share: float  # of the second


def blends(compared: Comparison) -> tuple[Blend, ...]:
    """The sources that are made of two substances of the library."""
    pairs = [
        _best_pair(compared, h, compared.similarity[i], compared.where[i])
        for i, h in enumerate(compared.H)
    ]
    if not any(two.score for two in pairs):
        return ()
    chance = _others_as_blends(compared)
    return tuple(
        _blend(compared, i, two)
        for i, two in enumerate(pairs)
        if _stands_out(two.score, chance, RARE, few=compared.few)
    )


def splits(compared: Comparison, matches: tuple[tuple[Match, ...], ...]) -> tuple[Split, ...]:
    """Pairs of sources that are parts of one substance."""
    claims = [one[0].name if one and one[0].confident else "" for one in matches]
    found = []
    for i, j in combinations(range(len(claims)), 2):
        if claims[i] and claims[j] and claims[i] != claims[j]:
            continue
        products = compared.L @ compared.H[[i, j]].T
        score, k = _as_one(products[:, 0], products[:, 1], float(compared.H[i] @ compared.H[j]))
        if score:
            found.append(Split((i, j), compared.names[k], score))
    if not found:
        return ()
    chance = _others_as_splits(compared)
    limit = RARE / (len(claims) - 1)  # each source is in that many pairs
    return tuple(two for two in found if _stands_out(two.similarity, chance, limit, few=compared.few))


def _stands_out(score: float, chance: NDArray, limit: float, *, few: bool) -> bool:
    """Whether a score is far above all that chance had, or from many, whether chance rarely has it.

    Less than one in all that were tried cannot be told.
    """
    if few:
        return bool(1 - score <= NEARER * (1 - chance.max(initial=0.0)))
    how_often = (1 + np.sum(chance >= score - 1e-9)) / (1 + len(chance))
    return bool(how_often <= max(limit, 1 / (1 + len(chance))))


def _far_better(two: float, one: float, share: float) -> bool:
    """Whether a sum of two is as good as a match, and one of them alone is none and leaves far more."""
    far = (1 - two**2) <= FAR_BETTER * (1 - max(one, 0.0) ** 2)
    return bool(far and two >= HIGH > one and min(share, 1 - share) >= LEAST)


def _best_pair(
    compared: Comparison, h: NDArray, similarity: NDArray, where: NDArray, own: int = -1
) -> _Two:
    """The two spectra whose sum is most like a structure, without those of a substance of its own."""
    best = np.argsort(-np.abs(similarity), kind="stable")
    best = best[compared.kinds[best] != own][:MOST]
    if where[best].any():
        rows = np.vstack([moved(compared.L[k : k + 1], compared.grid, where[k]) for k in best])
    else:
        rows = compared.L[best]
    products = rows @ h
    if (
        products.max(initial=1.0 if len(best) < 2 else -1.0) >= HIGH
    ):  # one is enough, or there is no pair
        return _Two(0.0, 0, 0, 0.0)
    two, share = by_two(products[:, None], products[None, :], rows @ rows.T)
    kinds = compared.kinds[best]
    two = np.where(kinds[:, None] != kinds[None, :], two, 0)
    a, b = (int(place) for place in np.unravel_index(two.argmax(), two.shape))
    far = _far_better(float(two[a, b]), float(products.max()), float(share[a, b]))
    return _Two(float(two[a, b]) if far else 0.0, int(best[a]), int(best[b]), float(share[a, b]))


def _blend(compared: Comparison, i: int, two: _Two) -> Blend:
    parts = [(1 - two.share, two.first), (two.share, two.second)]
    (more, a), (less, b) = sorted(parts, key=lambda part: -part[0])  # the greater part first
    return Blend(i, (compared.names[a], compared.names[b]), (more, less), two.score)


def _others_as_blends(compared: Comparison) -> NDArray:
    """How well two other substances explain each of some substances, which are none of these sums."""
    firsts = np.unique(compared.kinds, return_index=True)[1]
    tried = firsts[np.unique(np.linspace(0, len(firsts) - 1, TRIED).astype(int))]
    similarity, where = alike(compared.U[tried], compared.U, compared.grid, compared.shifts)
    pairs = (
        _best_pair(compared, compared.L[k], similarity[t], where[t], int(compared.kinds[k]))
        for t, k in enumerate(tried)
    )
    return np.array([two.score for two in pairs])


def _as_one(one: NDArray, other: NDArray, among: float) -> tuple[float, int]:
    """How alike the best sum of two is to one of the library, by their scalar products, and to which."""
    two, share = by_two(one, other, np.asarray(among))
    k = int(two.argmax())
    far = _far_better(float(two[k]), float(max(one[k], other[k])), float(share[k]))
    return (float(two[k]) if far else 0.0), k


def _others_as_splits(compared: Comparison) -> NDArray:
    """How well pairs of substances, which are parts of none, add up to a third."""
    among, kinds = compared.L @ compared.L.T, compared.kinds
    if len(kinds) * (len(kinds) - 1) <= 2 * PAIRS:
        pairs = np.stack(np.triu_indices(len(kinds), 1))
    else:
        pairs = np.random.default_rng(0).integers(len(kinds), size=(2, PAIRS))
    scores = []
    for i, j in pairs.T:
        third = (kinds != kinds[i]) & (kinds != kinds[j])
        if kinds[i] != kinds[j] and third.any():
            scores.append(_as_one(among[i, third], among[j, third], float(among[i, j]))[0])
    return np.array(scores)
