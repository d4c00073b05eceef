"""Kernels made ready while a file is read."""

import os
import subprocess
import sys
from threading import Event

from ngmca._support.compiled import compile_notice
from ngmca.algorithms import compile_ahead

NEEDED = """
import numpy as np, ngmca
from threading import Event
from ngmca._support.compiled import compile_notice
from ngmca.algorithms import compile_ahead
told = []
with compile_notice(lambda: told.append("warming")):
    compile_ahead.warm_up(Event())
with compile_notice(lambda: told.append("separating")):
    for kind in (np.float64, np.float32):
        Y = ngmca.simulate.spectra(m=12, n=300, r=3, snr=20, seed=0).Y.astype(kind)
        assert ngmca.separate(Y, 3, seed=0, domain="wavelet").domain.name == "wavelet"
from ngmca.nnqp.pivoting import _solve_rows as kernel
print(told, sum(kernel.stats.cache_hits.values()) > 0, sum(kernel.stats.cache_misses.values()) > 0)
"""


def test_everything_is_compiled_ahead_and_a_second_process_does_not_compile_again(tmp_path):
    """For single precision too; the second process finds all kernels in the cache on disk."""
    for expected in ("['warming'] False True", "[] True False"):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", NEEDED],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert done.stdout.strip() == expected, done.stderr


def test_what_is_over_in_a_moment_is_not_waited_for(monkeypatch):
    begun = []
    monkeypatch.setattr(compile_ahead, "warm_up", begun.append)
    with compile_ahead.meanwhile():
        pass
    assert begun == []
    monkeypatch.setattr(compile_ahead, "MOMENT", 0.0)
    inside = Event()
    monkeypatch.setattr(compile_ahead, "warm_up", lambda over: begun.append(over) or inside.set())
    with compile_ahead.meanwhile():
        assert inside.wait(60)
        assert not begun[0].is_set()
    assert begun[0].is_set()


def test_nothing_is_told_where_nothing_is_compiled():
    told = []
    with compile_notice(lambda: told.append(1)):
        pass
    assert told == []
