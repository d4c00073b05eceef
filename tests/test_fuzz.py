"""The kinds of cases of `make fuzz` can start: each prepares itself and runs one case."""

import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[1] / "fuzz"


@pytest.mark.parametrize("kind", ["layouts", "commands", "constraints", "nnqp", "checkpoints"])
def test_a_case_runs(tmp_path, monkeypatch, kind):
    monkeypatch.syspath_prepend(str(FUZZ))
    monkeypatch.chdir(tmp_path)
    import outcome
    import worker

    prepare, case = worker.kinds()[kind]
    prepare()
    (tmp_path / "case" / "input").mkdir(parents=True)
    assert case(worker.rng_of(kind, 1, 0), tmp_path / "case" / "input") in outcome.OUTCOMES


def test_every_kind_has_a_share_of_the_time(monkeypatch):
    monkeypatch.syspath_prepend(str(FUZZ))
    import run
    import worker

    assert set(run.KINDS) == set(worker.kinds())


def test_the_limit_of_a_case_counts_processor_time(monkeypatch):
    monkeypatch.syspath_prepend(str(FUZZ))
    import os
    import time

    import run

    if not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    begin = run.processor_seconds(os.getpid())
    time.sleep(0.2)
    assert run.processor_seconds(os.getpid()) - begin < 0.1
