"""What holds for every test."""

import gc
import os
import signal
import sys

import cold_compile
import pytest

from ngmca._support.isolated_process import IsolatedProcess

# Every worker, and every process that a test starts, uses the kernels that are compiled already.
if cold_compile.folder().exists():
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cold_compile.folder()))

gc.disable()  # until all modules are loaded

# A shell starts background jobs with Ctrl-C ignored, and processes that tests start would inherit it:
# tests of interruption would then wait for an end that never comes.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Waiting for the disk takes a tenth of the time, more on slow disks. It helps after a power failure:
# what a killed process has written stays. `fstat` too raises an error where no file is open.
os.fsync = os.fstat


def pytest_configure(config):
    for marker in (
        "draws: the report of every run in the test is drawn",
        "starts: an automatic number of starts is 5 in the test, as users have it, not 2",
        "tries: runs with warnings look for a next step in the test",
        "study: a Monte-Carlo study or a long series of crashes, which `make studies` runs",
        "own_process: files are read in new processes, not in one that read a file before",
    ):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config, items):
    """The longest file first: started last, it would keep one of the workers waiting."""
    if not os.environ.get("NGMCA_STUDIES"):
        studies = [item for item in items if item.get_closest_marker("study")]
        items[:] = [item for item in items if item not in studies]
        config.hook.pytest_deselected(items=studies)
    items.sort(key=lambda item: "test_crashes" not in item.nodeid)


def pytest_collection_finish(session):
    """What is loaded by now stays: the garbage collector need not look at it again and again."""
    gc.enable()
    gc.freeze()


@pytest.fixture(scope="session")
def spare_processes():
    """Processes that have read a file and wait for the next, by folder, modules and environment."""
    spare = {}
    yield spare
    for process in spare.values():
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.fixture(autouse=True)
def _processes_are_used_again(request, monkeypatch, spare_processes):
    """Starting a process takes longer than most tests of readers."""
    if request.node.get_closest_marker("own_process"):
        return
    start, end = IsolatedProcess._start, IsolatedProcess.__exit__

    def place():
        environment = {key: os.environ[key] for key in os.environ if key != "PYTEST_CURRENT_TEST"}
        return os.getcwd(), *sys.path, *sorted(environment.items())

    def start_or_take(self):
        process = spare_processes.pop(place(), None)
        if process is None or process.poll() is not None:
            return start(self)
        self._process = process
        return process

    def keep_or_end(self, *error):
        if self._process is None or self._process.poll() is not None or place() in spare_processes:
            return end(self, *error)
        spare_processes[place()], self._process = self._process, None
        return None

    monkeypatch.setattr(IsolatedProcess, "_start", start_or_take)
    monkeypatch.setattr(IsolatedProcess, "__exit__", keep_or_end)
