"""A reaction A -> B -> C followed by spectra: what known points, closure, shapes and kinetics tell.

python examples/reaction.py
"""

import numpy as np

import ngmca

rng = np.random.default_rng(0)
times = np.linspace(0, 10, 40)  # minutes
a, b = np.exp(-0.6 * times), 0.6 / 0.35 * (np.exp(-0.25 * times) - np.exp(-0.6 * times))
A = np.column_stack([a, b, 1 - a - b])
channels = np.arange(120)
S = np.exp(-0.5 * ((channels - np.array([[38], [49], [60]])) / 12) ** 2)
Y = A @ S + 0.02 * rng.standard_normal((40, 120))


def show(title, found):
    """Print the largest error of the fractions."""
    print(f"{title}: fractions are off by at most {np.abs(found.A - A).max():.3f}")


# Two samples were also measured by a chromatograph: two rows of A are known, all others are NaN.
amounts = np.full(A.shape, np.nan)
amounts[[5, 25]] = A[[5, 25]]
show("two known times", ngmca.separate(Y, 3, constraints=[ngmca.KnownMixing(amounts)]))

# Fractions sum to 1, and each rises and falls once.
together = [ngmca.KnownMixing(amounts), ngmca.Closure(), ngmca.Unimodal()]
show("with closure and unimodal profiles", ngmca.separate(Y, 3, constraints=together))

# The chromatograph has a standard deviation of 0.02: its values are weighed against the spectra.
noisy = np.clip(amounts + 0.02 * rng.standard_normal(A.shape), 0, None)
about = [ngmca.KnownMixing(noisy, sd=0.02), ngmca.Closure(), ngmca.Unimodal()]
show("values with a standard deviation", ngmca.separate(Y, 3, constraints=about))

# The first spectrum is known below channel 60, and the first sample is pure.
window, pure = np.full((1, 120), np.nan), np.full(A.shape, np.nan)
window[0, :60], pure[0] = S[0, :60], A[0]
some = [ngmca.KnownSources(window), ngmca.KnownMixing(pure), ngmca.Closure(), ngmca.Unimodal()]
show("a window of a spectrum, a pure sample, closure, unimodal", ngmca.separate(Y, 3, constraints=some))

# The fractions that were seen add up to 1 at most.
most = [ngmca.KnownMixing(amounts), ngmca.Closure(1.0, "at most")]
found = ngmca.separate(Y, 3, constraints=most)
print(f"sums of at most 1: the largest is {found.A.sum(axis=1).max():.3f}")

# The rate law is known, but not its rate constants.
found = ngmca.separate(Y, 3, constraints=[ngmca.Kinetics("A -> B -> C", times=times)])
show("kinetics", found)
print("\n".join(found.rates.words()))
