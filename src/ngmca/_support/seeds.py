"""The random numbers of a call."""

import numpy as np

from ngmca._support.messages import ArgumentTypeError, option

Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(seed: Seed) -> np.random.Generator:
    """Return the generator of a call; the generators it spawns do not depend on how many there are."""
    wrong = ArgumentTypeError(
        "{} must be a non-negative integer, a SeedSequence, a Generator or None, got {!r}.",
        *(option("seed"), seed),
    )
    if isinstance(seed, np.random.SeedSequence):  # a copy: spawning would change the caller's
        seed = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise wrong from error
    if not isinstance(rng.bit_generator.seed_seq, np.random.SeedSequence):
        raise wrong
    return rng
