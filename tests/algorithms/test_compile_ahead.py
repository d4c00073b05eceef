"""Kernels made ready while a file is read."""

import sys
from threading import Event

import cold_compile
import numba
import pytest

from ngmca._support.compiled import _stamp, compile_notice, compiled, compiled_elsewhere
from ngmca.algorithms import compile_ahead


def test_everything_is_compiled_by_other_processes_and_a_second_run_does_not_compile_again():
    """Nothing is compiled here: the kernels of the other processes are found in the cache on disk."""
    assert cold_compile.first_and_second() == ("['elsewhere'] True False", "[] True False")


def test_a_kernel_waits_for_the_process_of_its_package_and_is_compiled_here_if_that_has_failed(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    waited = []

    def doubled(x):
        return 2 * x

    kernel = compiled(doubled)
    with compiled_elsewhere({kernel._cache._package: lambda: waited.append(1)}):
        assert kernel(2.0) == 4
    assert waited == [1]
    again = compiled(doubled)
    with compiled_elsewhere({again._cache._package: lambda: waited.append(2)}):
        assert again(2.0) == 4
    assert waited == [1]  # what is on disk is not waited for


def test_kernels_are_compiled_again_if_another_file_of_their_package_has_changed(tmp_path):
    """They are compiled into each other, whereas Numba looks at the file of each kernel alone."""
    (tmp_path / "one.py").write_text("from ngmca._support.compiled import inlined")
    (tmp_path / "other.py").write_text("nothing = 0")
    before = _stamp(tmp_path)
    _stamp.cache_clear()
    (tmp_path / "other.py").write_text("nothing = 1")
    assert _stamp(tmp_path) == before
    _stamp.cache_clear()
    (tmp_path / "one.py").write_text("from ngmca._support.compiled import swift")
    assert _stamp(tmp_path) != before


def test_no_process_is_left_behind(monkeypatch):
    begun = []
    monkeypatch.setattr(compile_ahead, "is_cached", lambda kernel: False)
    asleep = "import time; time.sleep(600)"
    monkeypatch.setattr(compile_ahead, "python_command", lambda code: [sys.executable, "-c", asleep])
    start = compile_ahead.subprocess.Popen
    monkeypatch.setattr(
        compile_ahead.subprocess, "Popen", lambda *a, **b: begun.append(start(*a, **b)) or begun[-1]
    )
    with pytest.raises(KeyboardInterrupt), compile_ahead.in_processes(lambda: None):
        raise KeyboardInterrupt
    assert len(begun) == 3
    assert None not in [process.poll() for process in begun]


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
