"""The package as a whole: lazy imports, compiled code kept on disk, bit-identical results."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

import ngmca
from ngmca._support import threads
from ngmca._support.compiled import _ChecksummedFiles
from ngmca.engines.memory import MemoryEngine


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
        "import sys, ngmca, ngmca.nnqp.pivoting\n"
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


THREADS = """
import hashlib, numpy, ngmca
from ngmca._support.threads import _pool
from ngmca.engines import derived
derived.WORTH_THREADS = 0  # few data are enough then
Y = numpy.random.default_rng(0).random((60, 12_000))  # no product: it would depend on threads
print(hashlib.sha256(Y.tobytes()).hexdigest()[:8])
asked = 0
for method in (ngmca.Soft, ngmca.Hard, ngmca.Naive, ngmca.Anls):
    result = ngmca.separate(Y, 5, method=method(n_iter=4), threads={threads})
    before, asked = asked, _pool.cache_info().hits + _pool.cache_info().misses
    digest = hashlib.sha256(result.S.tobytes() + result.A.tobytes()).hexdigest()
    print(method.__name__, digest, asked > before)
"""


def test_bit_identical_whatever_the_number_of_threads():
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    answers = []
    for count in (1, 2, 3):
        environment = dict.fromkeys(names, str(count))
        data, *lines = run(THREADS.format(threads=count), **environment).splitlines()
        methods, digests, pools = zip(*map(str.split, lines), strict=True)
        assert len(methods) == 4
        assert set(pools) == {str(count > 1)}  # every method had a pool at work, or none
        answers.append((data, digests))
    assert answers[0] == answers[1] == answers[2]


@cache
def blas():
    return ThreadpoolController().select(user_api="blas").lib_controllers


def blas_threads():
    return {library.num_threads for library in blas()}


def test_products_use_one_thread_inside_and_as_many_as_before_outside(monkeypatch):
    seen = []
    sweep = MemoryEngine.sweep
    monkeypatch.setattr(MemoryEngine, "sweep", lambda *a: seen.append(blas_threads()) or sweep(*a))
    Y = np.random.default_rng(0).random((8, 20))
    with threadpool_limits(2, user_api="blas"):
        for _ in ngmca.iterate(Y, ngmca.Task(2, method=ngmca.Soft(n_iter=3))):
            assert blas_threads() == {2}
        ngmca.separate(Y, 2, method=ngmca.Soft(n_iter=3), n_init=1)
        assert blas_threads() == {2}
    assert len(seen) >= 6
    assert all(threads == {1} for threads in seen)


# one of its own: a lock that the interrupts leave behind would stop the threads of later tests
INTERRUPTED = threads._OneBlasThread()(blas_threads)


def interrupted(at):
    """Whether there was a step `at` of the decorator's at which Ctrl-C could come; it has come there."""
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        if frame.f_code.co_filename != threads.__file__:
            return None
        frame.f_trace_opcodes = True
        seen += 1
        if seen == at:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        INTERRUPTED()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return seen >= at


def test_an_interrupt_at_any_instant_leaves_the_number_of_threads_as_it_was():
    with threadpool_limits(2, user_api="blas"):
        at = 1
        while interrupted(at):
            assert blas_threads() == {2}, at
            assert INTERRUPTED() == {1}, at
            assert blas_threads() == {2}, at
            at += 1
    assert at > 100


FORK = """
import os, numpy as np, ngmca
Y = np.random.default_rng(0).random((200, 8000))
first = ngmca.separate(Y, 15, method=ngmca.Soft(n_iter=2), threads=2)
child = os.fork()
if child == 0:
    again = ngmca.separate(Y, 15, method=ngmca.Soft(n_iter=2), threads=2)
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

@one_blas_thread
def outlasted():
    first.set()
    second.wait(10)

@one_blas_thread
def outlasting():
    second.set()
    thread.join(10)
    show()

thread = Thread(target=outlasted)
show()
thread.start()
first.wait(10)
outlasting()
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


ANSWERS = """
import hashlib, warnings, numpy as np, ngmca
from ngmca import rivals, simulate
from ngmca.answers import how_sure
from ngmca.answers.how_many.singular_values import spectrum
from threadpoolctl import threadpool_limits
warnings.simplefilter("ignore")

def show(name, *arrays):
    print(name, hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest())

def every(name, found):
    show(name, found.A, found.S, found.noise, found.lam, found.history.cost, found.history.threshold)

def answers():
    wide, tall = (np.random.default_rng(0).random(shape) for shape in ((200, 10_000), (2600, 1100)))
    for method in (ngmca.Soft, ngmca.Hard, ngmca.Naive, ngmca.Anls):
        every(method.__name__, ngmca.separate(wide, 5, method=method(n_iter=2)))
    every("tall", ngmca.separate(tall, 9, method=ngmca.Soft(n_iter=2)))
    every("wavelets", ngmca.separate(wide[:60, :1024], 6, method=ngmca.Soft(n_iter=3), domain="wavelet"))
    for name, method in rivals.METHODS.items():
        for Y, r in ((wide, 5), (tall, 9)):
            found = method(Y, r, seed=0, **({} if name in ("spa", "vca") else {"n_iter": 1}))
            show(name, found.A, found.S, found.cost)
    part = wide[:, :1500]  # products of the sampler have no other bits with two threads at any size
    separated = ngmca.separate(part, 5, method=ngmca.Soft(n_iter=2), n_init=1)
    drawn = ngmca.posterior(part, separated, n_samples=4, burn=2, seed=0)
    show("posterior", drawn.S.mean, drawn.S.sd, drawn.A.mean, drawn.noise.mean, *drawn.rhat.values())
    separated = ngmca.separate(wide, 5, method=ngmca.Soft(n_iter=2))
    numbers = how_sure.diagnose(wide, separated)
    show("numbers", *(np.asarray(getattr(numbers, name)) for name in vars(numbers)))
    show("spectrum", spectrum(tall).values, spectrum(wide).values)
    print("words", how_sure.findings(separated, numbers))
    scores = ngmca.evaluate(separated.S, separated.S + 0.1, noise=wide[:20])
    show("scores", scores.sdr, scores.sir, scores.snr, scores.sar, scores.S)
    model = ngmca.NGMCA(5, method=ngmca.Soft(n_iter=2))
    W = model.fit_transform(wide)
    show("model", W, model.reconstruction_err_, model.transform(wide), model.inverse_transform(W))
    for name in ("sparse", "bands", "spectra"):
        show(name, getattr(simulate, name)(300, 3000, 6, snr=20.0, seed=0).Y)
    show("images", simulate.images(100, (64, 64), 4, snr=20.0, seed=0).Y)

for count in (1, 2):
    with threadpool_limits(count, user_api="blas"):
        answers()
"""


def test_every_answer_is_the_same_whatever_the_number_of_blas_threads():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", ANSWERS], env=environment, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    one, two = lines[: len(lines) // 2], lines[len(lines) // 2 :]
    assert one == two
    assert len(one) > 40


KERNEL = """
from ngmca._support.compiled import compiled

@compiled
def doubled(x):
    return 2 * x
"""
CALLED = """
import sys, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    {before}
    sys.path.insert(0, {folder!r})
    from kernel_of_a_test import doubled
    found = [doubled(1.5) for _ in range(2)]
stats = doubled.stats
print(found == [3.0, 3.0], sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print(sum("set NUMBA_CACHE_DIR" in str(one.message) for one in told), len(told))
"""


@pytest.fixture
def kernel(tmp_path):
    """Whether the answer is right, kernels loaded and compiled, warnings about the cache and all."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "kernel_of_a_test.py").write_text(KERNEL)

    def called(cache, before="pass"):
        program = CALLED.format(before=before, folder=str(tmp_path / "code"))
        right, *counts = run(program, NUMBA_CACHE_DIR=str(cache)).split()
        return right == "True", *map(int, counts)

    return called


LOADED, COMPILED, COMPILED_AND_SAID = (True, 1, 0, 0, 0), (True, 0, 1, 0, 0), (True, 0, 1, 1, 1)


def damaged(content):
    """The content of a file as accidents leave it: cut at any length, garbage, a byte changed."""
    yield from (content[:length] for length in range(len(content)))
    yield np.random.default_rng(0).bytes(len(content))
    for place in range(len(content)):
        yield content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :]


def test_files_of_the_cache_are_whole_or_not_there(tmp_path):
    files = _ChecksummedFiles(str(tmp_path), "kernel", ("stamp",))
    files.save("key", b"code")
    for path in tmp_path.iterdir():
        for content in damaged(path.read_bytes()):
            path.write_bytes(content)
            assert files.load("key") is None
        files.save("key", b"code")
        assert files.load("key") == b"code"
    assert len([*tmp_path.iterdir()]) == 2


def test_a_damaged_cache_is_compiled_anew_and_mended(tmp_path, kernel):
    cache = tmp_path / "cache"
    assert kernel(cache) == COMPILED
    for suffix in ("nbi", "nbc"):
        (path,) = cache.rglob(f"kernel_of_a_test.doubled*.{suffix}")
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        assert kernel(cache) == COMPILED, suffix
        assert kernel(cache) == LOADED, suffix


def test_a_cache_that_cannot_be_read_or_written_is_done_without(tmp_path, kernel):
    cache = tmp_path / "cache"
    assert kernel(cache) == COMPILED
    for path in [*cache.rglob("*.nb?")]:  # a folder in its place: even root cannot open that
        path.unlink()
        (path / "x").mkdir(parents=True)
    assert kernel(cache) == COMPILED_AND_SAID


def test_a_full_disk_is_no_reason_to_stop(tmp_path, kernel):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"
    assert kernel(tmp_path / "cache", full) == COMPILED_AND_SAID
    assert kernel(tmp_path / "cache") == COMPILED


def test_without_any_folder_for_it_nothing_is_cached(tmp_path, kernel):
    cache = tmp_path / "cache"
    cache.mkdir()
    nowhere = "from numba.core import caching; caching.CacheImpl._locator_classes = []"
    assert kernel(cache, nowhere) == COMPILED_AND_SAID
    assert not any(cache.iterdir())


def test_code_of_another_kernel_is_not_taken(tmp_path):
    """Two processes that compile at once may choose the same name for different code."""
    files = _ChecksummedFiles(str(tmp_path), "kernel", ("stamp",))
    files.save("one", "code of one")
    files._save_index({"one": "kernel.1.nbc", "two": "kernel.1.nbc"})
    assert files.load("one") == "code of one"
    assert files.load("two") is None


def test_every_guarantee_names_a_test_that_exists():
    root = Path(__file__).parents[1]
    guarantees = (root / "docs" / "reference" / "safety.md").read_text(encoding="utf-8")
    texts = [path.read_text(encoding="utf-8") for path in (root / "tests").rglob("test_*.py")]
    defined = {name for text in texts for name in re.findall(r"def (test_\w+)", text)}
    named = set(re.findall(r"`(test_\w+)`", guarantees))
    files = re.findall(r"`(tests/[\w/]+\.py)`", guarantees)
    assert len(named) > 20
    assert named <= defined
    assert all((root / file).is_file() for file in files)
