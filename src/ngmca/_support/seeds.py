"""Where all randomness of a call comes from."""

import numpy as np

_WRONG = "seed must be a non-negative integer, a SeedSequence, a Generator or None, got {!r}."

Seed = int | np.random.SeedSequence | np.random.Generator | None


def generator(seed: Seed) -> np.random.Generator:
    """The root of all randomness of a call; its children do not depend on how many there are."""
    if isinstance(seed, np.random.SeedSequence):  # a copy: spawning would change the caller's
        seed = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key, pool_size=seed.pool_size)
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise TypeError(_WRONG.format(seed)) from error
    if not isinstance(rng.bit_generator.seed_seq, np.random.SeedSequence):
        raise TypeError(_WRONG.format(seed))
    return rng
