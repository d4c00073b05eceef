"""The methods that the paper compares, with the settings that its text gives."""

import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca import rivals
from ngmca._support.seeds import generator
from ngmca._support.threads import one_blas_thread
from ngmca.algorithms import Options, iterate_thresholded
from ngmca.algorithms.first_guess import first_guess
from ngmca.algorithms.schedule import BANDS
from ngmca.algorithms.wavelets.wavelet_stage import TAU, SourceStep
from ngmca.algorithms.wavelets.wavelet_start import followed_by_bands
from ngmca.engines import by_residual, open_whole
from ngmca.paper.wavelet_forms import CONSTANT_TAU, analysis_form, synthesis_form
from ngmca.result import HasFactors, Separation
from ngmca.rivals._sparse_hals import share_of_zeros
from ngmca.sampling import posterior
from ngmca.separation import separate
from ngmca.simulate import Mixture
from ngmca.task.methods import Fista, Soft, method_with

N_ITER = 500  # of the nGMCA methods and ALS
SUB_ITER = 80  # at most, in nGMCA^S and nGMCA^H
LONG = 5_000  # HALS, sparse HALS and Hoyer's method
LONGEST = 40_000  # multiplicative updates
SETTLED = 1e-6  # Kim and Park's method runs "until convergence": until A moves less than this


@dataclass(frozen=True)
class Trial:
    """A simulated mixture, and the information that a method gets."""

    mixture: Mixture
    tau: float
    seed: int

    @property
    def r(self) -> int:
        """Number of sources."""
        return len(self.mixture.S)


@dataclass(frozen=True)
class Method:
    """A name to show, how the method is set, and how it is run."""

    label: str
    settings: str
    run: Callable[[Trial], HasFactors]


def _ngmca(
    method: str,
    *,
    n_iter: int | str = N_ITER,
    solver: str = "fista",
    start: tuple[NDArray, NDArray] | None = None,
    noise: float | None = None,
    **options: object,
) -> Callable[[Trial], Separation]:
    """A variant of nGMCA, with the paper's iterations for the sub-problems where it has any."""
    options |= {"n_iter": n_iter}
    if method == "hard":
        options |= {"solver": solver, "max_sub_iter": SUB_ITER}
    elif method != "naive":  # which has no sub-problems
        options |= {"solver": Fista(SUB_ITER) if solver == "fista" else solver}

    def run(trial: Trial) -> Separation:
        Y = by_residual(open_whole(trial.mixture.Y, threads=1))  # noise as the paper has it
        tau = {} if method == "anls" else {"tau": trial.tau}
        return separate(
            Y,
            trial.r,
            method=method_with(method, tau | options),
            domain="direct",
            start=start,
            noise=noise,
            n_init=1,
            seed=trial.seed,
        )

    return run


def _from_truth(method: str, *, noise_known: bool) -> Callable[[Trial], HasFactors]:
    def run(trial: Trial) -> HasFactors:
        noise = float(np.sqrt(np.mean(trial.mixture.noise**2))) if noise_known else None
        return _ngmca(method, start=(trial.mixture.A, trial.mixture.S), noise=noise)(trial)

    return run


def _rival(method: Callable[..., HasFactors], **options: Any) -> Callable[[Trial], HasFactors]:
    return lambda trial: method(trial.mixture.Y, trial.r, seed=trial.seed, **options)


def _hoyer(trial: Trial) -> HasFactors:
    true = float(np.mean([rivals.sparseness(row) for row in trial.mixture.S]))
    return _rival(rivals.hoyer, n_iter=LONG, sparseness_S=true)(trial)


def _sparse_hals(trial: Trial) -> HasFactors:
    true = float(np.mean(share_of_zeros(trial.mixture.S.T)))
    return _rival(rivals.sparse_hals, n_iter=LONG, sparsity=true)(trial)


def _default(trial: Trial) -> Separation:
    return _ngmca("soft", n_iter="auto", solver="pivot")(trial)


def _automatic(trial: Trial) -> HasFactors:
    mixture, tau = trial.mixture, trial.tau
    shape = mixture.sample_shape
    method = Soft(tau=tau)
    return separate(
        mixture.Y, trial.r, method=method, sample_shape=shape, n_init=1, seed=trial.seed, threads=1
    )


def _in_wavelets(step: SourceStep) -> Callable[[Trial], HasFactors]:
    """A formulation of the sequel, from where `separate` would continue in wavelets."""

    @one_blas_thread
    def run(trial: Trial) -> HasFactors:
        engine = open_whole(trial.mixture.Y, threads=1)
        shape = trial.mixture.sample_shape
        options = Options(tau=trial.tau, domain="wavelet", sample_shape=shape)
        A, S = first_guess(engine, trial.r, generator(trial.seed).spawn(1)[0])
        states = iterate_thresholded(engine, A, S, options)
        last = deque(followed_by_bands(engine, states, options, step=step), maxlen=1).pop()
        return last.scaled(engine.unit)

    return run


def _mean(trial: Trial, start: Separation | None, **options: Any) -> HasFactors:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # chains that disagree: the SDR tells what it costs
        found = posterior(trial.mixture.Y, start, seed=trial.seed, threads=1, **options)
    return SimpleNamespace(A=found.A.mean, S=found.S.mean)


_GMCA_SETTINGS = f"{N_ITER} iterations"
_FRAME_SETTINGS = f"from nGMCA^S, at most {BANDS} iterations in a wavelet frame, thresholds of "
_SUB_SETTINGS = f"{N_ITER} iterations of at most {SUB_ITER} sub-iterations"

METHODS = {
    "soft": Method("nGMCA^S", _SUB_SETTINGS, _ngmca("soft")),
    "hard": Method("nGMCA^H", _SUB_SETTINGS, _ngmca("hard")),
    "naive": Method("nGMCA^naive", _GMCA_SETTINGS, _ngmca("naive")),
    "als": Method("ALS", f"{N_ITER} iterations", _rival(rivals.als, n_iter=N_ITER)),
    "hals": Method("accelerated HALS", f"{LONG:,} iterations", _rival(rivals.hals, n_iter=LONG)),
    "multiplicative": Method(
        "multiplicative", f"{LONGEST:,} iterations", _rival(rivals.multiplicative, n_iter=LONGEST)
    ),
    "sparse_hals": Method(
        "sparse acc. HALS", f"{LONG:,} iterations, told the true share of zeros", _sparse_hals
    ),
    "hoyer": Method("Hoyer", f"{LONG:,} iterations, told the true mean sparseness", _hoyer),
    "kim_park": Method(
        "Kim & Park",
        f"default weights, until A moves less than {SETTLED:g}, at most {LONG:,} iterations",
        _rival(rivals.kim_park, n_iter=LONG, tol=SETTLED),
    ),
    "truth": Method("truth", "the true factors themselves", lambda trial: trial.mixture),
    "oracle": Method(
        "oracle",
        "knows the mixing",
        lambda trial: rivals.oracle(trial.mixture.Y, trial.mixture.A, tau=trial.tau),
    ),
    "exact": Method(
        "nGMCA^S, exact",
        f"{N_ITER} iterations, sub-problems solved exactly",
        _ngmca("soft", solver="pivot"),
    ),
    "unbounded": Method(
        "nGMCA^S, unbounded",
        f"{_SUB_SETTINGS}, columns of A may grow in the refinement",
        _ngmca("soft", bounded=False),
    ),
    "default": Method("nGMCA^S, default", "what `separate` does unless it is told otherwise", _default),
    "posterior": Method(
        "posterior mean",
        "started at the default, everything learnt",
        lambda trial: _mean(trial, _default(trial)),
    ),
    "known": Method(
        "posterior mean, A known",
        "knows the mixing; the rest is learnt",
        lambda trial: _mean(trial, None, A=trial.mixture.A),
    ),
    "soft_init": Method(
        "nGMCA^S from the truth",
        f"{_SUB_SETTINGS}, from the true factors, told the noise level",
        _from_truth("soft", noise_known=True),
    ),
    "naive_init": Method(
        "nGMCA^naive from the truth",
        f"{_GMCA_SETTINGS}, from the true factors",
        _from_truth("naive", noise_known=False),
    ),
    "direct": Method(
        "direct", f"nGMCA^S, {BANDS} iterations", _ngmca("soft", n_iter=BANDS, solver="pivot")
    ),
    "analysis": Method(
        "analysis", f"{_FRAME_SETTINGS}{CONSTANT_TAU:g}", _in_wavelets(analysis_form(reweighted=False))
    ),
    "synthesis": Method(
        "synthesis", f"{_FRAME_SETTINGS}{CONSTANT_TAU:g}", _in_wavelets(synthesis_form(reweighted=False))
    ),
    "analysis_reweighted": Method(
        "analysis, reweighted",
        f"{_FRAME_SETTINGS}{TAU:g}, which fall with what is there",
        _in_wavelets(analysis_form(reweighted=True)),
    ),
    "synthesis_reweighted": Method(
        "synthesis, reweighted",
        f"{_FRAME_SETTINGS}{TAU:g}, which fall with what is there",
        _in_wavelets(synthesis_form(reweighted=True)),
    ),
    "minvol": Method("min-vol", "500 iterations, default weight", _rival(rivals.minvol, n_iter=500)),
    "auto": Method("separate(Y, r)", "the library's default; the data choose the domain", _automatic),
}
