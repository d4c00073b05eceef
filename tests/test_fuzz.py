"""The kinds of cases of `make fuzz` can start: each prepares itself and runs one case."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ngmca

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


@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("n_iter", [20, "auto"])
def test_the_check_of_certificates_agrees_with_them_and_finds_wrong_sources(monkeypatch, n_iter, uneven):
    """The automatic schedule has other thresholds and weighs measurements by their noise."""
    monkeypatch.syspath_prepend(str(FUZZ))
    import arrays
    import outcome

    mixture = ngmca.simulate.sparse(m=20, n=80, r=3, snr=20, seed=0)
    sd = np.linspace(0.02, 0.5, 20)[:, None] if uneven else 0.05
    Y = mixture.A @ mixture.S + sd * np.random.default_rng(0).standard_normal((20, 80))
    options = {"method": "soft"} | ({} if n_iter == "auto" else {"n_iter": n_iter})
    method = ngmca.Soft(n_iter=n_iter)
    with arrays._levels_of_second_fit() as levels:
        found = ngmca.separate(Y, 3, method=method, domain="direct", n_init=1, seed=0)
    arrays._check_exact(found, Y, options, levels)
    assert bool(levels) is (uneven and n_iter == "auto")
    with pytest.raises(outcome.Failure, match="the violation is"):
        arrays._check_exact(replace(found, S=1.001 * found.S), Y, options, levels)
