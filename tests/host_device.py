"""A GPU device for tests on the CPU: NumPy for CuPy, and the kernels compiled for the CPU."""

import ctypes
import hashlib
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ngmca.engines.gpu import Device
from ngmca.engines.gpu.device import layout

COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="the kernels need a C++ compiler")
CACHE = Path(__file__).parents[1] / ".cache" / "kernels"


@cache
def library(kernel):
    """Load the file of a kernel, compiled with one lane a column and one thread a block."""
    macros = [one for one in kernel.options[1:] if "LANES" not in one]
    options = ["-O1", "-std=c++17", "-Wno-unknown-pragmas", "-shared", "-fPIC", "-DLANES=1", *macros]
    return ctypes.CDLL(built(kernel.source, options))


def built(source, options):
    """Return the path of the library that a source compiles to, from the cache if it is there.

    Its name is a digest of source, options and compiler. It is written atomically.
    """
    key = "\0".join([source, *options, COMPILER, compiler_version()])
    binary = CACHE / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.so"
    if not binary.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            text, made = Path(folder) / "kernel.cpp", Path(folder) / "kernel.so"
            text.write_text(source)
            subprocess.run([COMPILER, *options, text, "-o", made], check=True)
            made.replace(binary)
    return binary


@cache
def compiler_version():
    """Return what the compiler says of its version and target."""
    shown = subprocess.run([COMPILER, "--version"], check=True, capture_output=True, text=True)
    return f"{shown.stdout} {platform.machine()}"


TYPES = {
    "L": ctypes.c_ulonglong,
    "i": ctypes.c_int,
    "l": ctypes.c_longlong,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
}


def passed(value):
    """An argument of a kernel."""
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return TYPES[value.dtype.char](value.item())


def problem(r, n, dtype=np.float64, *, m=60, seed=0):
    """A Gram matrix of directions that are not orthogonal, correlations, and a guess of the support."""
    rng = np.random.default_rng(seed)
    A = rng.random((m, r)) + np.eye(m, r)
    G = A.T @ A
    S = np.maximum(rng.standard_normal((n, r)), 0)
    C = (S @ G + rng.standard_normal((n, r))).astype(dtype)
    return G, C, np.maximum(S + rng.standard_normal((n, r)) / 2, 0).astype(dtype)


class HostDevice(Device):
    """NumPy arrays, of which as many fit as `room` has bytes."""

    xp = np
    most_shared = 227 << 10

    def __init__(self, room=1 << 40):
        self.room = room
        self.launches, self.kernels = 0, set()

    def host(self, array):
        return np.array(array)

    def free(self):
        return self.room

    def multiply(self, P, Q, out):
        for part in (P, Q, out):  # what cuBLAS can do
            layout(part)
        assert layout(out)[0] == 0
        np.matmul(P, Q, out=out)

    def run(self, kernel, blocks, shared, *given):
        self.launches += 1
        self.kernels.add(kernel)
        assert shared <= self.most_shared
        found = library(kernel)
        if kernel.name == "solve":
            found.solve(*map(passed, given), ctypes.c_int(blocks[1]))
        else:
            sizes = (ctypes.c_int(size) for size in blocks)
            getattr(found, f"run_{kernel.name}")(*sizes, *map(passed, given))


class HostTransfers:
    """Pieces that arrive when they are asked for, and not before."""

    def __init__(self, device, Y, width):
        self.Y, self.sent, self.pieces = Y, {}, 0

    def send(self, k, columns, target):
        assert k % 2 not in self.sent  # its place must be free
        self.sent[k % 2] = columns, target

    def arrived(self, k):
        columns, target = self.sent[k % 2]
        target[...] = np.nan
        target[:, : columns.stop - columns.start] = self.Y[:, columns]
        self.pieces += 1

    def done(self, k):
        del self.sent[k % 2]

    def given_up(self):
        self.sent.clear()
