"""Two substances in one source, and one substance in two sources."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ngmca.answers.which.comparison import Comparison
from ngmca.answers.which.identification import Blend, Match, Split
from ngmca.answers.which.similarity import MAX_CHANCE, MIN_GAIN, MIN_SIMILARITY, alike, by_two, moved

MAX_SPECTRA_IN_PAIRS = 300  # every pair of these is tried for a source that may be two substances
MAX_CHANCE_OF_EACH = MAX_CHANCE / 2  # half for blends, half for splits
SUBSTANCES_AS_BLENDS = 100  # tried as sums of two others, to see what chance gives
PAIRS_AS_SPLITS = 2000  # tried as parts of a third substance, to see what chance gives


@dataclass(frozen=True)
class _Two:
    """The best sum of two spectra; `score` is 0 if one alone is nearly as good."""

    score: float
    first: int
    second: int
    share: float  # of the second


def blends(compared: Comparison) -> tuple[Blend, ...]:
    """Return the sources that are sums of two substances of the library."""
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
        if _stands_out(two.score, chance, MAX_CHANCE_OF_EACH, few=compared.few)
    )


def splits(compared: Comparison, matches: tuple[tuple[Match, ...], ...]) -> tuple[Split, ...]:
    """Return pairs of sources that are parts of one substance."""
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
    limit = MAX_CHANCE_OF_EACH / (len(claims) - 1)  # each source is in that many pairs
    return tuple(two for two in found if _stands_out(two.similarity, chance, limit, few=compared.few))


def _stands_out(score: float, chance: NDArray, limit: float, *, few: bool) -> bool:
    """Return whether chance rarely gives this score, or with a few spectra, a score near it.

    Chance cannot be estimated below one in all that were tried.
    """
    if few:
        return bool(1 - score <= MIN_GAIN * (1 - chance.max(initial=0.0)))
    how_often = (1 + np.sum(chance >= score - 1e-9)) / (1 + len(chance))
    return bool(how_often <= max(limit, 1 / (1 + len(chance))))


def _far_better(two: float, one: float, share: float) -> bool:
    """Return whether a sum of two is a match, and one alone leaves four times as much unexplained."""
    far = (1 - two**2) <= 0.25 * (1 - max(one, 0.0) ** 2)
    return bool(far and two >= MIN_SIMILARITY > one and min(share, 1 - share) >= 0.1)


def _best_pair(
    compared: Comparison, h: NDArray, similarity: NDArray, where: NDArray, own: int = -1
) -> _Two:
    """Return the two spectra whose sum is most similar to h, without spectra of the substance `own`."""
    best = np.argsort(-np.abs(similarity), kind="stable")
    best = best[compared.kinds[best] != own][:MAX_SPECTRA_IN_PAIRS]
    if where[best].any():
        rows = np.vstack([moved(compared.L[k : k + 1], compared.grid, where[k]) for k in best])
    else:
        rows = compared.L[best]
    products = rows @ h
    # one is enough, or there is no pair
    if products.max(initial=1.0 if len(best) < 2 else -1.0) >= MIN_SIMILARITY:
        return _Two(0.0, 0, 0, 0.0)
    two, share = by_two(products[:, None], products[None, :], rows @ rows.T)
    kinds = compared.kinds[best]
    two = np.where(kinds[:, None] != kinds[None, :], two, 0)
    a, b = (int(place) for place in np.unravel_index(two.argmax(), two.shape))
    far = _far_better(float(two[a, b]), float(products.max()), float(share[a, b]))
    return _Two(float(two[a, b]) if far else 0.0, int(best[a]), int(best[b]), float(share[a, b]))


def _blend(compared: Comparison, i: int, two: _Two) -> Blend:
    parts = [(1 - two.share, two.first), (two.share, two.second)]
    (more, a), (less, b) = sorted(parts, key=lambda part: -part[0])  # the larger part first
    return Blend(i, (compared.names[a], compared.names[b]), (more, less), two.score)


def _others_as_blends(compared: Comparison) -> NDArray:
    """Return the scores of some substances as sums of two others, which they are not."""
    firsts = np.unique(compared.kinds, return_index=True)[1]
    tried = firsts[np.unique(np.linspace(0, len(firsts) - 1, SUBSTANCES_AS_BLENDS).astype(int))]
    similarity, where = alike(compared.U[tried], compared.U, compared.grid, compared.shifts)
    pairs = (
        _best_pair(compared, compared.L[k], similarity[t], where[t], int(compared.kinds[k]))
        for t, k in enumerate(tried)
    )
    return np.array([two.score for two in pairs])


def _as_one(one: NDArray, other: NDArray, among: float) -> tuple[float, int]:
    """Return the similarity of the best sum of two to a spectrum of the library, and its index."""
    two, share = by_two(one, other, np.asarray(among))
    k = int(two.argmax())
    far = _far_better(float(two[k]), float(max(one[k], other[k])), float(share[k]))
    return (float(two[k]) if far else 0.0), k


def _others_as_splits(compared: Comparison) -> NDArray:
    """Return the scores of pairs of substances as parts of a third, which they are not."""
    among, kinds = compared.L @ compared.L.T, compared.kinds
    if len(kinds) * (len(kinds) - 1) <= 2 * PAIRS_AS_SPLITS:
        pairs = np.stack(np.triu_indices(len(kinds), 1))
    else:
        pairs = np.random.default_rng(0).integers(len(kinds), size=(2, PAIRS_AS_SPLITS))
    scores = []
    for i, j in pairs.T:
        third = (kinds != kinds[i]) & (kinds != kinds[j])
        if kinds[i] != kinds[j] and third.any():
            scores.append(_as_one(among[i, third], among[j, third], float(among[i, j]))[0])
    return np.array(scores)
