"""An answer where several answers fit equally well: sources near the purest measurements.

Spectra that are nowhere 0 and much alike can be mixed with each other and still fit the data. Sparsity
then chooses an extreme of what is possible, and each start another one. If some measurements are nearly
pure, they explain all others with amounts of at least 0, and the most plausible sources are near them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ngmca import rivals
from ngmca._support.messages import warn_user
from ngmca.algorithms.restarts import choose
from ngmca.engines import Engine, in_its_unit, residual_energy
from ngmca.engines.neighbouring_channels import noise_of_differences
from ngmca.result import Domain, Separation
from ngmca.task.checkpoints import Recording
from ngmca.task.compared_starts import compared
from ngmca.task.problem import Problem

MAX_MISFIT = 4.0  # energy of the residual, over that of the noise in second differences
DIFFERENT = 36.0, 45.0  # dB: mean SDR of one start as an estimate of another, below which they differ
UNRELATED = 20.0  # dB: below it, starts have found other sources altogether
NEARLY_ZERO = 0.01  # of the largest entry of a source
FEW_ZEROS = 0.1  # share of nearly zero entries of S, below which sparsity tells nothing


def settled_by_purest(problem: Problem, found: Separation, runs: Sequence[Separation]) -> Separation:
    """Return the best of several starts, or plain factorisation from the purest measurements.

    The second is returned if the starts differ and the purest measurements alone fit as well as the best
    of them. It is also returned if the starts found unrelated sources that are hardly ever 0: sparsity
    then cannot choose among them.
    """
    agreement = min(one.agreement for one in found.restarts)
    if not _applies(problem) or agreement >= DIFFERENT[1]:
        return found
    engine, here = problem.engine, found.in_memory()
    purest = rivals.as_separation("spa", in_its_unit(engine), problem.r, None)
    if not (agreement < UNRELATED and _hardly_zero(here.S)) and not _explain(
        engine, agreement, here, purest
    ):
        return found
    options = replace(problem.options, method="anls", n_iter="auto", domain="direct", warm=False)
    plain = replace(problem, options=options, start=(purest.A, np.maximum(purest.S, 0)), again=None)
    recording = Recording()
    for state, _, _ in plain.states(np.random.default_rng(0)):
        recording.add(state)
    warn_user(
        f"the data do not determine the sources: {len(runs)} starts found different ones. The answer "
        "closest to the purest measurements was taken. Add constraints, or measurements with other "
        "amounts, to decide."
    )
    answer = replace(
        recording.separation(),
        domain=Domain("direct", "the sources are close to the purest measurements"),
    )
    answers = [answer, *runs]
    data, options, fits = compared(problem, answers)
    return choose(data, answers, options, fits=fits, chosen=0)


def _hardly_zero(S: NDArray) -> bool:
    """Whether the sources are above 0 nearly everywhere."""
    return float(np.mean(NEARLY_ZERO * S.max(axis=1, keepdims=True) > S)) < FEW_ZEROS


def _explain(engine: Engine, agreement: float, found: Separation, purest: Separation) -> bool:
    """Whether starts differ by more than the noise, and the purest measurements fit as well as they."""
    differences, _ = noise_of_differences(engine)
    noise = engine.shape[1] * float(differences @ differences)
    clear = 10 * np.log10(engine.energy / max(noise, 1e-15 * engine.energy))  # dB: with little noise
    best, own = (residual_energy(engine, one.A, one.S) for one in (found, purest))
    return bool(agreement < np.clip(clear, *DIFFERENT) and own <= min(best, MAX_MISFIT * noise))


def _applies(problem: Problem) -> bool:
    """Whether all is automatic, and the data are in memory, without weights and constraints.

    Purest measurements explain themselves. There must be as many others to show whether they are pure.
    """
    automatic = problem.options.method == "soft" and problem.options.n_iter == "auto"
    enough = problem.engine.shape[0] >= 2 * problem.r
    return automatic and enough and problem.plain and problem.engine.place == "memory"
