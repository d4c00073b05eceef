"""An answer where several answers fit equally well: sources near the purest measurements.

Spectra that are nowhere 0 and much alike can be mixed with each other and still fit the data. Sparsity
then chooses an extreme of what is possible, and each start another one. If some measurements are nearly
pure, they explain all others with amounts of at least 0, and the most plausible sources are near them.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ngmca import rivals
from ngmca._support.messages import warn_user
from ngmca.algorithms.restarts import with_restarts
from ngmca.engines import in_its_unit, residual_energy
from ngmca.engines.neighbouring_channels import noise_of_differences
from ngmca.result import Domain, Separation
from ngmca.task.checkpoints import Recording
from ngmca.task.problem import Problem

MAX_MISFIT = 4.0  # energy of the residual, over that of the noise in second differences
DIFFERENT = 36.0, 45.0  # dB: mean SDR of one start as an estimate of another, below which they differ


def settled_by_purest(problem: Problem, found: Separation, runs: Sequence[Separation]) -> Separation:
    """Return the best of several starts, or plain factorisation from the purest measurements.

    The second is returned if the starts differ and the purest measurements alone fit as well as the best
    of them.
    """
    if not _applies(problem) or min(one.agreement for one in found.restarts) >= DIFFERENT[1]:
        return found
    engine = problem.engine
    differences, _ = noise_of_differences(engine)
    noise = engine.shape[1] * float(differences @ differences)
    clear = 10 * np.log10(engine.energy / max(noise, 1e-15 * engine.energy))  # dB: with little noise
    if min(one.agreement for one in found.restarts) >= np.clip(clear, *DIFFERENT):
        return found
    purest = rivals.as_separation("spa", in_its_unit(engine), problem.r, None)
    here = found.in_memory()
    best, own = (residual_energy(engine, one.A, one.S) for one in (here, purest))
    if own > min(best, MAX_MISFIT * noise):
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
    costs = [one.cost for one in found.restarts]
    return with_restarts([answer, *runs], [min(costs), *costs], engine.energy)


def _applies(problem: Problem) -> bool:
    """Whether all is automatic, and the data are in memory, without weights and constraints.

    Purest measurements explain themselves. There must be as many others to show whether they are pure.
    """
    automatic = problem.options.method == "soft" and problem.options.n_iter == "auto"
    enough = problem.engine.shape[0] >= 2 * problem.r
    return automatic and enough and problem.plain and problem.engine.place == "memory"
