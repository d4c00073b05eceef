"""The kernel in which several threads share a column, with its warp run on the CPU."""

import ctypes
import sys
from pathlib import Path

import numpy as np
import pytest
from host_device import built, needs_compiler, passed

from ngmca import nnqp
from ngmca.engines.gpu.cuda_sources import Kernel, Shape
from ngmca.nnqp.certificate import equilibrate

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="threads are made of contexts here"),
]
TOLERANCE = {"f": 8e-6, "d": 2e-13}


def problem(r, n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.random((90, r)) + np.eye(90, r)
    G = A.T @ A
    S = np.maximum(rng.standard_normal((n, r)), 0)
    C = (S @ G + rng.standard_normal((n, r))).astype(dtype)
    return G, C, np.maximum(S + rng.standard_normal((n, r)) / 2, 0).astype(dtype)


def compiled(shape, r, dtype):
    """Return the kernel for a block of one warp as a function."""
    kernel = Kernel("columns", "solve", np.dtype(dtype), 32, (("R", r), *shape.macros))
    # memory that a block shares is that of all threads here
    shared = "extern __shared__ __align__(16) unsigned char memory[];"
    assert shared in kernel.source
    source = kernel.source.replace(shared, "unsigned char* memory = memory_of_block;")
    warp = (Path(__file__).parent / "warp.cpp").read_text()
    assert "#include KERNEL" in warp
    options = ["-O1", "-std=c++17", "-w", "-shared", "-fPIC", *kernel.options[1:]]
    function = ctypes.CDLL(built(warp.replace("#include KERNEL", source), options)).run_solve
    function.restype = ctypes.c_bool
    return function


def solved(function, G, C, guess, *, moves, backwards=False, violation=None):
    """X, and the violation that is told of each column."""
    dtype, (n, r) = C.dtype, C.shape
    Gz, scale = equilibrate(G)
    small = [np.ascontiguousarray(part, dtype=dtype) for part in (Gz, scale, np.zeros(r))]
    X, again = np.full((n, r), np.nan, dtype=dtype), violation is not None
    violation = violation.copy() if again else np.full(n, np.nan, dtype=np.float32)
    given = [*small, C, guess, X, violation, np.int64(n), dtype.type(TOLERANCE[dtype.char])]
    numbers = (np.int32(value) for value in (moves, again, 2, backwards))
    assert function(*map(passed, given), *map(passed, numbers))
    return X, violation


@pytest.mark.parametrize(
    ("lanes", "most", "r", "dtype"),
    [(8, 20, 20, "f"), (8, 33, 33, "f"), (16, 18, 18, "d"), (8, 5, 5, "d")],
)
def test_a_team_solves_as_one_thread_does(tmp_path, lanes, most, r, dtype):
    function = compiled(Shape(lanes, most, 32), r, dtype)
    G, C, guess = problem(r, 23, dtype)
    X, told = solved(function, G, C, guess, moves=-1)
    limit = 1e-5 if dtype == "f" else 1e-12
    assert told.max() <= limit
    assert nnqp.violation(G, C.T, X.T) <= limit
    np.testing.assert_array_equal(solved(function, G, C, guess, moves=-1, backwards=True)[0], X)
    alone = np.stack([solved(function, G, C[[k]], guess[[k]], moves=-1)[0][0] for k in range(3)])
    np.testing.assert_array_equal(alone, X[:3])  # whatever the other teams of the warp do


def test_what_is_too_large_is_left_or_mended(tmp_path):
    function = compiled(Shape(8, 13, 32), 20, "f")
    G, C, guess = problem(20, 23, "f")
    guess[4] = np.nan
    X, told = solved(function, G, C, guess, moves=-1)
    left = told > 1
    assert 3 < left.sum() < 23
    assert np.isnan(X[left]).all()
    assert nnqp.violation(G, C[~left].T, X[~left].T) <= 1e-5
    mended, now = solved(function, G, C, guess, moves=20_000, violation=told)
    assert np.isnan(mended[~left]).all()  # solved already
    assert now.max() <= 1e-5
    assert nnqp.violation(G, C[left].T, mended[left].T) <= 1e-5
