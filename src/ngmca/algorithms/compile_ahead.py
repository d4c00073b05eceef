"""Kernels compiled in several processes before a first run, or loaded while a file is read."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import Event

import numpy as np

from ngmca._support.compiled import compiled_elsewhere, is_cached
from ngmca._support.isolated_process import NotStartedError, python_command
from ngmca._support.threads import beside
from ngmca.algorithms.first_guess import first_guess
from ngmca.algorithms.options import Options
from ngmca.algorithms.soft_and_hard import iterate_thresholded
from ngmca.algorithms.wavelets.wavelet_start import followed_by_bands
from ngmca.domains import analysis, frame
from ngmca.domains.frame_kernels import synthesise_row
from ngmca.engines import open_data
from ngmca.engines.robust_noise import _deviations
from ngmca.nnqp import bounded, pivot
from ngmca.nnqp.pivoting import pivot_rows

MOMENT = 0.5  # seconds: what is over sooner leaves no time to use
MARKS = {  # a kernel of each package, and those that nearly every run of small data needs
    "ngmca.nnqp": pivot_rows,
    "ngmca.engines": _deviations,
    "ngmca.domains": synthesise_row,
}


@contextmanager
def in_processes(notify: Callable[[], None]) -> Iterator[None]:
    """Have kernels that are not on disk compiled by processes, one for each package.

    Whoever needs such a kernel meanwhile waits for its process, after a call of `notify`.
    """
    with ExitStack() as ends:
        waiting = {}
        with suppress(NotStartedError, OSError):  # then they are compiled here
            for package in [package for package, mark in MARKS.items() if not is_cached(mark)]:
                code = f"from ngmca.algorithms.compile_ahead import compile_package as c; c('{package}')"
                process = subprocess.Popen(
                    python_command(code), stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                ends.callback(process.wait)
                ends.callback(process.kill)
                waiting[package] = partial(_told, notify, process)
        with compiled_elsewhere(waiting):
            yield


def _told(notify: Callable[[], None], process: subprocess.Popen[bytes]) -> None:
    """Wait for a process; say so if it is still at work."""
    if process.poll() is None:
        notify()
        process.wait()


def compile_package(package: str) -> None:
    """Call the kernels of a package that nearly every run of small data needs."""
    rng = np.random.default_rng(0)
    A, S = rng.random((5, 2)), np.abs(rng.standard_normal((2, 64)))
    G, C = A.T @ A, A.T @ (A @ S)
    if package == "ngmca.nnqp":
        pivot(G, C)
        bounded(G, C, np.ones(2))
    elif package == "ngmca.engines":
        engine = open_data(A @ S + 0.01 * rng.standard_normal((5, 64)))
        for final in (False, True):
            engine.noise(A, S, final=final)
    else:
        W = frame(64)
        Lam = analysis.weigh(W, S, np.full((2, W.bands), 0.01), 3.0)
        analysis.descend(G, C, W, Lam, analysis.start(W, S), 2, 1.0)


@contextmanager
def meanwhile() -> Iterator[None]:
    """Have kernels ready after what is inside, if that takes longer than a moment.

    It ends with the kernel at work: what is not needed is not waited for.
    """

    def work(over: Event) -> None:
        if not over.wait(MOMENT):
            warm_up(over)

    with beside(work, "ngmca-compile"):
        yield


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
