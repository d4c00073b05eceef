"""The package as a whole: layers, lazy imports, compiled code kept on disk, bit-identical results."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import ngmca
from ngmca.data import InMemory

ROOT = Path(ngmca.__file__).parent

# A room may import from rooms in the layers above its own in this list.
LAYERS = [
    {"_support"},
    {"nnqp", "metrics", "simulate", "io", "result"},
    {"data", "domains"},
    {"algorithms"},
    {"rivals", "sampling"},
    {"separation"},
    {"estimator", "diagnosis"},
    {"saving"},
    {"report"},
    {"paper"},
    {"cli"},
]
HEAVY = {
    "sklearn": {"estimator"},
    "numba": {"_support"},
    "rich": {"_support", "cli"},
    "nmrsim": {"simulate"},
    "scipy": {"algorithms", "metrics", "simulate", "io", "diagnosis", "result", "sampling", "paper"},
    "matplotlib": {"paper"},
    "pandas": {"paper"},
    "plotly": {"report"},
    "typer": {"cli"},
    "xarray": {"io", "saving"},
    "h5py": {"io"},
    "zarr": {"io"},
}


def rooms():
    for path in sorted(ROOT.rglob("*.py")):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if room != "__init__":
            yield room, path


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "ngmca":
            yield from (f"ngmca.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_every_room_has_a_layer_and_imports_point_down():
    level = {room: i for i, layer in enumerate(LAYERS) for room in layer}
    seen = set()
    for room, path in rooms():
        seen.add(room)
        for name in imported(path):
            package, _, inside = name.partition(".")
            if package == "ngmca":
                target = inside.split(".")[0]
                assert target == room or level[target] < level[room], f"{path} imports {name}"
            elif package in HEAVY:
                assert room in HEAVY[package], f"{path} imports {name}"
    assert seen == set(level)


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_import_is_light_and_compiles_nothing():
    out = run(
        "import sys, ngmca\n"
        "module = vars(sys.modules['ngmca.nnqp.pivoting'])\n"
        "kernels = [f for f in module.values() if hasattr(f, 'signatures')]\n"
        "print(len(kernels), sum(len(f.signatures) for f in kernels), 'sklearn' in sys.modules, "
        "'nmrsim' in sys.modules)"
    )
    kernels, compiled, sklearn, nmrsim = out.split()
    assert int(kernels) > 3
    assert compiled == "0"
    assert sklearn == "False"
    assert nmrsim == "False"


def test_a_second_process_does_not_compile_again(tmp_path):
    code = (
        "import numpy as np, ngmca\n"
        "Y = np.random.default_rng(0).random((8, 20))\n"
        "[ngmca.separate(Y.astype(t), 2, n_iter=5, seed=0) for t in (np.float64, np.float32)]\n"
        "from ngmca.nnqp.pivoting import _solve_rows as kernel\n"
        "stats = kernel.stats\n"
        "print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))"
    )
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    hits, misses = map(int, run(code, **cache).split())
    assert misses > 0
    hits, misses = map(int, run(code, **cache).split())
    assert hits > 0
    assert misses == 0


THREADS = """
import hashlib, threading, numpy, ngmca
Y = numpy.random.default_rng(0).random((100, 25_000))  # no product: it would depend on threads
result = ngmca.separate(Y, 5, method={method!r}, n_iter=4, seed=0, threads={threads})
pool = sum(thread.name.startswith("ngmca") for thread in threading.enumerate())
print(hashlib.sha256(Y.tobytes()).hexdigest()[:8], pool)
print(hashlib.sha256(result.S.tobytes() + result.A.tobytes()).hexdigest())
"""


@pytest.mark.parametrize("method", ["soft", "hard", "naive", "anls"])
def test_bit_identical_whatever_the_number_of_threads(method):
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    runs = [
        run(THREADS.format(method=method, threads=threads), **dict.fromkeys(names, str(threads))).split()
        for threads in (1, 2, 3)
    ]
    data, pools, answers = zip(*runs, strict=True)
    assert len(set(data)) == 1
    assert [int(pool) > 0 for pool in pools] == [False, True, True]  # a pool was at work
    assert len(set(answers)) == 1


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_products_use_one_thread_inside_and_as_many_as_before_outside(monkeypatch):
    seen = []
    sweep = InMemory.sweep
    monkeypatch.setattr(InMemory, "sweep", lambda *a: seen.append(blas_threads()) or sweep(*a))
    Y = np.random.default_rng(0).random((8, 20))
    with threadpool_limits(2, user_api="blas"):
        for _ in ngmca.iterate(Y, 2, n_iter=3, seed=0):
            assert blas_threads() == {2}
        ngmca.separate(Y, 2, n_iter=3, seed=0)
        assert blas_threads() == {2}
    assert len(seen) >= 6
    assert all(threads == {1} for threads in seen)


FORK = """
import os, numpy as np, ngmca
Y = np.random.default_rng(0).random((200, 8000))
first = ngmca.separate(Y, 15, n_iter=2, threads=2, seed=0)
child = os.fork()
if child == 0:
    again = ngmca.separate(Y, 15, n_iter=2, threads=2, seed=0)
    os._exit(0 if np.array_equal(again.S, first.S) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_makes_its_own_threads():
    out = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60, check=True
    )
    assert out.stdout.strip() == "0"


OVERLAP = """
from threading import Event, Thread
import numpy
from threadpoolctl import threadpool_info
from ngmca._support.threads import one_blas_thread

def show():
    print(max(pool["num_threads"] for pool in threadpool_info()))

first, second = Event(), Event()

def outlasted():
    with one_blas_thread:
        first.set()
        second.wait(10)

thread = Thread(target=outlasted)
show()
thread.start()
first.wait(10)
with one_blas_thread:
    second.set()
    thread.join(10)
    show()
show()
"""


def test_the_limit_survives_calls_that_overlap():
    assert run(OVERLAP, OPENBLAS_NUM_THREADS="2").split() == ["2", "1", "2"]


def test_public_names():
    for name in ngmca.__all__:
        assert getattr(ngmca, name) is not None
    assert ngmca.__version__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ngmca.nothing
    assert set(dir(ngmca)) == {*ngmca.__all__, "__version__"}


def test_names_of_0_1_still_work():
    from ngmca.baselines import METHODS, hals, oracle

    assert ngmca.baselines is ngmca.rivals
    assert METHODS["hals"] is hals
    assert oracle is ngmca.rivals.oracle


def test_the_listing_is_the_plan():
    """At most 20 entries at the top, those to come (domains, app) included."""
    shown = {path.name for path in ROOT.iterdir()} - {"__pycache__", "py.typed"}
    assert len(shown | {"domains", "app"}) <= 20


def test_one_door_to_the_data():
    """Only the engine divides by units and goes through the data in blocks."""
    for room, path in rooms():
        text = path.read_text()
        if room != "data":
            for word in ("unit_of(", "as_strided", "BLOCK_BYTES"):
                assert word not in text, f"{path}: {word}"
