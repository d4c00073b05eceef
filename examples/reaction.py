"""A reaction A -> B -> C followed by spectra: what known points, closure, shapes and kinetics tell.

python examples/reaction.py
"""

import numpy as np

import ngmca
from ngmca.constraints import Constraint

rng = np.random.default_rng(0)
times = np.linspace(0, 10, 40)  # minutes
a, b = np.exp(-0.6 * times), 0.6 / 0.35 * (np.exp(-0.25 * times) - np.exp(-0.6 * times))
A = np.column_stack([a, b, 1 - a - b])
channels = np.arange(120)
S = np.exp(-0.5 * ((channels - np.array([[38], [49], [60]])) / 12) ** 2)
Y = A @ S + 0.02 * rng.standard_normal((40, 120))


def separated(title: str, *constraints: Constraint) -> ngmca.Separation:
    """Separate the data, and print the largest error of the fractions."""
    found = ngmca.separate(Y, 3, constraints=constraints)
    print(f"{title}: fractions are off by at most {np.abs(found.A - A).max():.3f}")
    return found


# Two samples were also measured by a chromatograph: two rows of A are known, all others are NaN.
amounts = np.full(A.shape, np.nan)
amounts[[5, 25]] = A[[5, 25]]
separated("two known times", ngmca.KnownMixing(amounts))

# Fractions sum to 1, and each rises and falls once.
closure, unimodal = ngmca.Closure(), ngmca.Unimodal()
separated("with closure and unimodal profiles", ngmca.KnownMixing(amounts), closure, unimodal)

# The chromatograph has a standard deviation of 0.02: its values are weighed against the spectra.
noisy = np.clip(amounts + 0.02 * rng.standard_normal(A.shape), 0, None)
about = ngmca.KnownMixing(noisy, sd=0.02)
separated("values with a standard deviation", about, closure, unimodal)

# The first spectrum is known below channel 60.
window = np.full((1, 120), np.nan)
window[0, :60] = S[0, :60]
separated("a window of a spectrum", ngmca.KnownSources(window), ngmca.KnownMixing(amounts), closure)

# The first spectrum was measured, with noise of its own: one more measurement, with that source only.
measured = S[:1] + 0.05 * rng.standard_normal((1, 120))
alone = np.zeros((41, 3), dtype=bool)
alone[40, 1:] = True
with_points = np.vstack([amounts, [[1, np.nan, np.nan]]])
found = ngmca.separate(
    np.vstack([Y, measured]),
    3,
    noise=np.append(np.full(40, 0.02), 0.05),
    constraints=[ngmca.KnownMixing(with_points), ngmca.ZeroMixing(alone), closure],
)
print(f"a measured spectrum: fractions are off by at most {np.abs(found.A[:40] - A).max():.3f}")

# The fractions that were seen add up to 1 at most.
most = ngmca.Closure(1.0, "at most")
found = separated("sums of at most 1", ngmca.KnownMixing(amounts), most)
print(f"  the largest sum is {found.A.sum(axis=1).max():.3f}")

# The rate law is known, but not its rate constants.
rates = separated("kinetics", ngmca.Kinetics("A -> B -> C", times=times)).rates
print("\n".join(rates.words() if rates is not None else []))
