"""Kernels compiled, or loaded, while something else has to be waited for."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

import numpy as np

from ngmca.algorithms.first_guess import first_guess
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.algorithms.wavelets.wavelet_start import followed_by_bands
from ngmca.engines import open_data

MOMENT = 0.5  # seconds: what is over sooner leaves no time to use


@contextmanager
def meanwhile() -> Iterator[None]:
    """Have kernels ready after what is inside, if that takes longer than a moment.

    It ends with the kernel at work: what is not needed is not waited for.
    """
    over = Event()

    def work() -> None:
        if not over.wait(MOMENT):
            warm_up(over)

    thread = Thread(target=work, name="ngmca-compile")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def warm_up(over: Event) -> None:
    """Separate a few numbers, channel by channel and in wavelets, until it is over."""
    rng = np.random.default_rng(0)
    axis = np.linspace(0, 6, 64)
    S = np.exp(-((axis - np.array([[2.0], [4.0]])) ** 2))
    engine = open_data(rng.random((5, 2)) @ S + 0.01 * rng.standard_normal((5, 64)))
    options = Options(n_iter=2, domain="wavelet")
    A, S = first_guess(engine, 2, rng)
    for _ in followed_by_bands(engine, iterate_thresholded(engine, A, S, options), options):
        if over.is_set():
            return
