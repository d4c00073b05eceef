"""The kernels in the files *.cu here: their text, their macros, and how their threads share the work."""

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from ngmca._support.messages import message, option
from ngmca.engines.gpu.cuda_driver import GpuError, load_cupy

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
HEADERS = ("blocks.h", "coefficients.h", "draws.h")
BLOCKS = 1 << 13  # of threads, more than any GPU has at work


@dataclass(frozen=True)
class Kernel:
    """A function of one of the files *.cu here, for one type of number and values of its macros."""

    file: str
    name: str
    dtype: np.dtype
    threads: int  # in a block
    macros: tuple[tuple[str, int], ...] = ()

    @property
    def source(self) -> str:
        """The text of the file, with what it includes."""
        folder = resources.files("ngmca.engines.gpu")
        text = folder.joinpath(f"{self.file}.cu").read_text(encoding="utf-8")
        for header in HEADERS:
            line = f'#include "{header}"'
            if line in text:
                text = text.replace(line, folder.joinpath(header).read_text(encoding="utf-8"))
        return text

    @property
    def options(self) -> tuple[str, ...]:
        """For the compiler."""
        kind = "float" if self.dtype == SINGLE else "double"
        given = (f"-D{name}={value}" for name, value in self.macros)
        return ("--std=c++17", f"-DREAL={kind}", *given)


@cache
def compiled(kernel: Kernel) -> Any:
    """The kernel for the GPU."""
    return load_cupy().RawModule(code=kernel.source, options=kernel.options).get_function(kernel.name)


@dataclass(frozen=True)
class Shape:
    """How columns.cu goes about its work; found by trial, on an H200."""

    lanes: int  # threads that share a column
    most: int  # entries of a support that is factored
    threads: int = 128  # in a block
    at_once: int = 1  # blocks that are to share a multiprocessor

    @property
    def macros(self) -> tuple[tuple[str, int], ...]:
        """Of columns.cu."""
        names = ("LANES", "MOST", "THREADS", "AT_ONCE")
        return tuple(zip(names, (self.lanes, self.most, self.threads, self.at_once), strict=True))

    @property
    def blocks(self) -> int:
        """At most, which are few: each team takes column after column."""
        return 132 * self.at_once * 8

    def within(self, r: int, numbers: int) -> "Shape":
        """The same with as many threads in a block as can share so many numbers."""
        shape = self
        while shape.threads > 32 and shape.shared(r) > numbers:
            shape = replace(shape, threads=shape.threads - 32)
        if shape.shared(r) > numbers:
            template = "the GPU has too little shared memory for {} sources. Use {}."
            raise GpuError(message(template, option("r", r), option("device", "cpu")))
        return shape

    def shared(self, r: int) -> int:
        """Numbers that a block of threads shares: G, and for every column a factor and its support."""
        wide, rows = -(-r // (4 * self.lanes)) * 4 * self.lanes, -(-self.most // self.lanes)
        every = rows * self.lanes
        room = self.lanes**2 * rows * (rows + 1) // 2 + 2 * every
        room += (32 + self.lanes - 2 * every % 32) % 32
        return (r + 1) * wide + self.threads // self.lanes * (room + -(-every // 4))


def quick(r: int) -> Shape:
    """For most columns, in single precision."""
    if r <= 32:
        return Shape(8, r, 128, 4)
    return Shape(8, min(r, 40), 384) if r <= 64 else Shape(16, 48, 256)


def thorough(r: int) -> Shape:
    """For every column, in single or double precision."""
    return Shape(8, r) if r <= 16 else Shape(16, min(r, 64), 128 if r <= 64 else 64)
