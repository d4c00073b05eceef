"""What tests of the paper share; other processes import it, and would not find it in a test module."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ngmca.paper.experiments import quality


def fails_at_2(trial, found):
    if trial.seed == 1:
        raise np.linalg.LinAlgError("SVD did not converge")
    return quality(trial, found)


def one_thread(*given, **options):
    """Stands for a pool of processes: a process takes longer to start than the simulations of a test."""
    return ThreadPoolExecutor(1)
