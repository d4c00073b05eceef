"""Kernels made ready while a file is read."""

from threading import Event

import cold_compile

from ngmca._support.compiled import compile_notice
from ngmca.algorithms import compile_ahead


def test_everything_is_compiled_ahead_and_a_second_process_does_not_compile_again():
    """For single precision too; the second process finds all kernels in the cache on disk."""
    assert cold_compile.first_and_second() == ("['warming'] False True", "[] True False")


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
