"""Clarabel, called directly: translating a problem takes CVXPY longer than solving it.

    minimum(P, q, ("nonnegative", F, g), ("norm", F, g))

minimises 1/2 x' P x + q' x, where F x + g >= 0, or where its first entry bounds the norm of the others.
"""

import clarabel
import numpy as np
from scipy.sparse import csc_array, vstack

CONES = {
    "zero": clarabel.ZeroConeT,
    "nonnegative": clarabel.NonnegativeConeT,
    "norm": clarabel.SecondOrderConeT,
}


def minimum(P, q, *constraints, tol=1e-8):
    """Return x at the minimum, and the objective there; None and inf if no x meets the constraints."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    cones = [CONES[name](len(g)) for name, _, g in constraints]
    F = vstack([csc_array(F) for _, F, _ in constraints], format="csc")
    g = np.concatenate([np.asarray(g, float) for *_, g in constraints])
    solver = clarabel.DefaultSolver(csc_array(np.triu(P)), np.asarray(q, float), -F, g, cones, settings)
    found = solver.solve()
    if found.status == clarabel.SolverStatus.PrimalInfeasible:
        return None, np.inf
    assert found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return np.array(found.x), found.obj_val
