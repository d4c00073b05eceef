"""`ngmca separate --device`, where there is no GPU, and with one that is none."""

import tomllib

import numpy as np
import pytest
from command_line import run
from host_device import HostDevice, needs_compiler

import ngmca
from ngmca.engines import opening
from ngmca.engines.gpu import GpuError


@pytest.fixture
def file(tmp_path):
    np.save(tmp_path / "d.npy", ngmca.simulate.sparse(12, 300, 2, snr=20.0, seed=0).Y)
    return tmp_path / "d.npy"


def command(file, *more):
    where = ("-o", file.with_name("out"), "--n-init", 1, "--iterations", 15)
    return ("separate", file, "-r", 2, *where, "--device", "cuda", *more)


def test_without_a_gpu_there_is_one_sentence_and_no_result(file, monkeypatch):
    def none():
        raise GpuError("device='cuda' finds no GPU: this machine has none that CUDA can use.")

    monkeypatch.setattr(opening, "open_device", none)
    told = run(*command(file), code=2)
    assert "finds no GPU" in told.output
    assert len(told.output.strip().splitlines()) <= 2
    assert not file.with_name("out").exists()


@needs_compiler
def test_the_result_is_that_of_the_cpu_and_says_where_it_was_found(file, monkeypatch):
    device = HostDevice()
    monkeypatch.setattr(opening, "open_device", lambda: device)
    run(*command(file))
    assert device.launches > 20
    found = ngmca.load(file.with_name("out"))
    expected = ngmca.separate(np.load(file), 2, method=ngmca.Soft(n_iter=15), n_init=1)
    np.testing.assert_allclose(found.S, expected.S, atol=1e-9)
    settings = tomllib.loads((file.with_name("out") / "run.toml").read_text())
    assert settings["separate"]["device"] == "cuda"


@needs_compiler
def test_error_bars_come_with_a_gpu(file, monkeypatch):
    monkeypatch.setattr(opening, "open_device", HostDevice)
    run(*command(file, "--posterior"))
    assert ngmca.load(file.with_name("out")).posterior.S.mean.shape == (2, 300)


@pytest.mark.parametrize("more", [("--noise", "poisson"), ("--robust",), ("--method", "hals")])
def test_what_the_gpu_does_not_know_is_refused(file, monkeypatch, more):
    monkeypatch.setattr(opening, "open_device", HostDevice)
    told = run(*command(file, *more), code=2)
    assert "cuda" in told.output
    assert not file.with_name("out").exists()


def test_a_device_that_is_none_is_refused(file):
    told = run(*command(file, "--device", "gpu"), code=2)
    assert "device" in told.output


@needs_compiler
def test_error_bars_come_later_without_a_gpu(file, monkeypatch):
    with monkeypatch.context() as there:
        there.setattr(opening, "open_device", HostDevice)
        run(*command(file))
    run("posterior", file.with_name("out"))  # where no GPU is
    assert ngmca.load(file.with_name("out")).posterior is not None


@needs_compiler
def test_several_starts_are_those_of_the_library(file, monkeypatch):
    device = HostDevice()
    monkeypatch.setattr(opening, "open_device", lambda: device)
    given = ("-o", file.with_name("out"), "--n-init", 4, "--iterations", 15)
    run("separate", file, "-r", 2, *given, "--device", "cuda")
    found = ngmca.load(file.with_name("out"))
    expected = ngmca.separate(np.load(file), 2, method=ngmca.Soft(n_iter=15), n_init=4)
    np.testing.assert_allclose(found.S, expected.S, atol=1e-9)
    assert len(found.restarts) == 4


def test_a_file_that_is_too_large_is_refused_there(file, monkeypatch):
    monkeypatch.setattr("ngmca.io.large_files.memory_left", lambda: 1000)
    told = run(*command(file), code=2).output.replace("\n", " ")
    assert "too large to be read whole, as --device cuda does" in told
