"""Compile the kernels of a run into an empty cache, which all tests then use.

`make test` runs this beside the type checker. `test_compile_ahead.py` reads what happened. The folder is
named after the files that hold kernels, so that it is filled once for every version of them.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import numpy as np, ngmca
from threading import Event
from ngmca._support.compiled import compile_notice
from ngmca.algorithms import compile_ahead
told = []
with compile_notice(lambda: told.append("here")):
    with compile_ahead.in_processes(lambda: told.append("elsewhere")):
        compile_ahead.warm_up(Event())
        Y = ngmca.simulate.spectra(m=12, n=300, r=3, snr=20, seed=0).Y
        assert ngmca.separate(Y, 3, seed=0, domain="wavelet").domain.name == "wavelet"
from ngmca.nnqp.pivoting import pivot_rows as kernel
counts = kernel.stats.cache_hits, kernel.stats.cache_misses
print(sorted(set(told)), *(sum(count.values()) > 0 for count in counts))
"""


# Kernels that only some options need: every test process would compile them otherwise.
DATA = """
import warnings
import numpy as np, ngmca
warnings.simplefilter("ignore")
mixture = ngmca.simulate.spectra(m=12, n=96, r=3, snr=20, seed=0)
few = ngmca.Soft(n_iter=4)
"""
OTHER_OPTIONS = """
spectrum = ngmca.KnownSources(mixture.S[:1])
for known in (ngmca.Closure(), ngmca.Unimodal(), ngmca.Baseline("splines"), spectrum):
    ngmca.separate(mixture.Y, 3, method=few, constraints=[known], n_init=1)
ngmca.separate(mixture.Y, 3, method=few, domain="wavelet", sample_shape=(8, 12), n_init=1)
ngmca.separate(np.where(mixture.Y > 0, mixture.Y, np.nan), 3, method=few, n_init=1)
ngmca.separate(mixture.Y.astype(np.float32), 3, method=few, domain="wavelet", n_init=1)
for name in ("hals", "hoyer", "sparse_hals"):
    ngmca.separate(mixture.Y, 3, method=ngmca.Rival(name, n_iter=2))
"""
ERROR_BARS = """
with_gaps = np.where(np.arange(96) % 7 > 0, mixture.Y, np.nan)
found = ngmca.separate(with_gaps, 3, method=few, domain="direct", n_init=1)
ngmca.posterior(with_gaps, found, n_samples=4, burn=2, n_chains=2, seed=0)
for domain in ("direct", "wavelet"):
    found = ngmca.separate(mixture.Y, 3, method=few, domain=domain, n_init=1)
    ngmca.posterior(mixture.Y, found, n_samples=4, burn=2, n_chains=2, seed=0)
"""


def folder() -> Path:
    """Return the folder of the cache for the kernels as they are now."""
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted((ROOT / "src").rglob("*.py")):
        content = path.read_bytes()
        if b"_support.compiled" in content or path.name == "compiled.py":
            digest.update(content)
    return ROOT / ".kernels" / digest.hexdigest()[:16]


def run(cache: Path, program: str = PROGRAM) -> str:
    """Return what a program prints with a cache."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() or done.stderr


def first_and_second() -> tuple[str, str]:
    """Return what the program printed with an empty cache, and what it prints now."""
    cache = folder()
    first = cache / "first-run.txt"
    if not first.exists():
        shutil.rmtree(cache.parent, ignore_errors=True)  # of other versions too
        cache.mkdir(parents=True)
        first.write_text(run(cache))
        with ThreadPoolExecutor() as pool:  # two processes at once
            [*pool.map(lambda program: run(cache, DATA + program), (OTHER_OPTIONS, ERROR_BARS))]
    return first.read_text(), run(cache)


if __name__ == "__main__":
    print(*first_and_second(), sep="\n")
