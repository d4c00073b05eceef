"""Readers that crash, hang, print or take all memory: the file is refused, and nothing else happens."""

import os
import re
import shutil
import signal
import subprocess
import sys

import h5py
import numpy as np
import pytest
import real_data
import scipy.io

from ngmca._support.isolated_process import (
    CrashedError,
    IsolatedProcess,
    NotStartedError,
    RaisedError,
    TooLongError,
)
from ngmca.io import ReadError, read

pytestmark = pytest.mark.own_process

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40)))
SPECTRUM = "##TITLE=x\n##XUNITS=1/CM\n##YUNITS=ABSORBANCE\n##FIRSTX=1\n##LASTX=3\n##NPOINTS=3\n"
SPECTRUM += "##XFACTOR=1\n##YFACTOR=1\n##XYDATA=(X++(Y..Y))\n1 4 5 6\n##END=\n"


@pytest.fixture
def starts(monkeypatch):
    """The processes that were started."""
    started = []
    popen = subprocess.Popen

    def noted(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", noted)
    return started


def replaced_jcamp(monkeypatch, folder, code):
    """Put a module in the place of jcamp, in whatever process reads."""
    folder.mkdir()
    (folder / "jcamp.py").write_text(code)
    monkeypatch.syspath_prepend(folder)


def test_plain_values_come_back_as_they_were():
    values = {
        "numbers": [1, -2.5, 10**30, True, None, np.float32(0.5)],
        "text": "ü \udcff \x1b\n",
        "array": {"dict": [1], "": {}},
        "matrix": np.arange(6.0).reshape(2, 3),
        "turned": np.asfortranarray(Y),
        "strided": Y[::2, ::3],
        "big-endian": np.arange(3, dtype=">i2"),
        "complex": np.array([1 + 2j]),
        "scalar": np.array(3.0),
        "none": np.zeros((0, 3)),
        "words": np.array(["a", "über"]),
        "objects": np.array(["a", "bc"], dtype=object),
        "times": np.array(["2020-01-01"], dtype="M8[ns]"),
    }
    with IsolatedProcess() as apart:
        back = apart.call("copy:deepcopy", values, seconds=60)
    assert list(back) == list(values)
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            assert back[name].shape == value.shape
            assert back[name].dtype == (value.dtype if name != "objects" else "<U2")
        np.testing.assert_array_equal(back[name], value)
    assert back["turned"].flags.f_contiguous
    assert back["matrix"].flags.writeable


def test_what_is_not_plain_does_not_travel():
    with IsolatedProcess() as apart:
        for arguments in ([object()], [np.array([None])], [{1: np.zeros(1, dtype="i4,f8")}]):
            with pytest.raises(TypeError):
                apart.call("copy:copy", *arguments, seconds=60)
        with pytest.raises(RaisedError) as caught:
            apart.call("builtins:object", seconds=60)
        assert caught.value.kind == "TypeError"
        assert apart.call("builtins:abs", -3, seconds=60) == 3


def test_one_process_serves_many_calls_and_is_replaced_after_a_crash(starts):
    with IsolatedProcess() as apart:
        first = apart.call("os:getpid", seconds=60)
        assert apart.call("os:getpid", seconds=60) == first != os.getpid()
        with pytest.raises(RaisedError, match="no way") as caught:
            apart.call("sys:exit", "no way", seconds=60)
        assert caught.value.kind == "SystemExit"
        with pytest.raises(CrashedError, match="aborted"):
            apart.call("os:abort", seconds=60)
        with pytest.raises(CrashedError, match="exit code 3"):
            apart.call("os:_exit", 3, seconds=60)
        with pytest.raises(TooLongError, match=r"took longer than 0\.5 s"):
            apart.call("time:sleep", 100, seconds=0.5)
        assert apart.call("os:getpid", seconds=60) != first
    assert len(starts) == 4
    assert all(process.poll() is not None for process in starts)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold to limits of memory")
def test_memory_is_limited():
    with IsolatedProcess(memory=3e8) as apart:
        assert apart.call("numpy:ones", 10**7, seconds=60).sum() == 10**7
        with pytest.raises(RaisedError) as caught:
            apart.call("numpy:ones", 10**8, seconds=60)
        assert "MemoryError" in caught.value.kind


INTERRUPTED = """
from ngmca._support.isolated_process import IsolatedProcess
with IsolatedProcess() as apart:
    print(apart.call("os:getpid", seconds=60), flush=True)
    apart.call("time:sleep", 600, seconds=600)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_both_processes_at_once():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        child = int(parent.stdout.readline())
        os.kill(child, signal.SIGINT)  # the terminal sends it to both
        parent.send_signal(signal.SIGINT)
        _, errors = parent.communicate(timeout=60)
    assert errors.splitlines()[-1] == b"KeyboardInterrupt"
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_damaged_matlab_file_that_crashes_its_reader(tmp_path):
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"data": Y})
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"\x09\0\0\0" + Y.nbytes.to_bytes(4, "little"))] = 11  # a type that there is not
    path.write_bytes(raw)
    with pytest.raises(ReadError, match=r"d\.mat: its reader crashed \(.*\): the file is damaged"):
        read(path)


def test_a_damaged_bruker_file_that_hangs_its_reader(tmp_path, monkeypatch):
    pytest.importorskip("nmrglue")
    shutil.copytree(real_data.nmr() / "bruker2" / "3", tmp_path / "3")
    acqus = tmp_path / "3" / "acqus"
    text = acqus.read_text()
    acqus.write_text(text[: re.search(r"\(0\.\.\d+\)", text).end() + 20] + "\n##END=\n")  # an array
    monkeypatch.setenv("NGMCA_READ_SECONDS", "2")
    with pytest.raises(ReadError, match=r"longer than 2 s.* NGMCA_READ_SECONDS=20 allows more"):
        read(tmp_path / "3")


def test_a_wrong_time_limit_is_named(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["data"] = Y
    for wrong in ("soon", "-1", "nan"):
        monkeypatch.setenv("NGMCA_READ_SECONDS", wrong)
        with pytest.raises(ReadError, match=f"NGMCA_READ_SECONDS is '{wrong}'"):
            read(tmp_path / "d.h5")


def test_one_process_reads_a_folder_and_another_goes_on_after_a_crash(tmp_path, monkeypatch, starts):
    folder = tmp_path / "spectra"
    folder.mkdir()
    for name in "abcdef":
        (folder / f"{name}.jdx").write_text(SPECTRUM)
    code = "import os, signal\ndef readfile(path):\n    print('noise')\n    os.write(2, b'noise')\n"
    code += "    if path.endswith('c.jdx'):\n        os.kill(os.getpid(), signal.SIGSEGV)\n"
    code += "    return {'x': [1, 2, 3], 'y': [4, 5, 6], 'npoints': 3, 'end': ''}\n"
    replaced_jcamp(monkeypatch, tmp_path / "hidden", code)
    data = read(folder)
    assert data.row_names == ("a", "b", "d", "e", "f")
    assert any("c.jdx: its reader crashed (segmentation fault)" in note for note in data.notes)
    assert len(starts) == 2
    assert all(process.poll() is not None for process in starts)


def test_what_readers_print_is_not_seen(tmp_path, monkeypatch, capfd):
    code = (
        "import os, sys, warnings\ndef readfile(path):\n    warnings.warn('noise')\n    print('noise')\n"
    )
    code += "    os.write(1, b'noise')\n    os.write(2, b'noise')\n    sys.stderr.write('noise')\n"
    code += "    return {'x': [1, 2, 3], 'y': [4, 5, 6], 'npoints': 3, 'end': ''}\n"
    replaced_jcamp(monkeypatch, tmp_path / "hidden", code)
    (tmp_path / "a.jdx").write_text(SPECTRUM)
    np.testing.assert_array_equal(read(tmp_path / "a.jdx").Y, [[4, 5, 6]])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("executable", [None, "", "/usr/bin/blender", "/nowhere/python3"])
def test_without_an_interpreter_it_is_read_here_and_said(tmp_path, monkeypatch, executable):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["data"] = Y
    monkeypatch.setattr(sys, "executable", executable)
    with IsolatedProcess() as apart, pytest.raises(NotStartedError):
        apart.call("os:getpid", seconds=60)
    data = read(tmp_path / "d.h5")
    np.testing.assert_array_equal(data.Y, Y)
    assert any("d.h5 was read without protection" in note for note in data.notes)


def test_our_own_formats_need_no_other_process(tmp_path, starts):
    np.save(tmp_path / "d.npy", Y)
    np.savez(tmp_path / "d.npz", data=Y)
    np.savetxt(tmp_path / "d.csv", Y)
    for name in ("d.npy", "d.npz", "d.csv"):
        np.testing.assert_array_equal(read(tmp_path / name).Y, Y)
    assert not starts


def test_a_changed_search_path_is_passed_on(tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def twice(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    with IsolatedProcess() as apart:
        assert apart.call("only_here:twice", 3, seconds=60) == 6


def test_importing_the_package_loads_nothing_until_it_is_asked_for():
    code = (
        "import sys, ngmca\n"
        "assert not {'numpy', 'scipy', 'numba', 'h5py', 'importlib.metadata'} & set(sys.modules)\n"
        "from ngmca.rivals import hals\n"
        "assert hals is ngmca.rivals.hals\n"
        "import pickle\n"
        "result = ngmca.separate([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], 1)\n"
        "assert (pickle.loads(pickle.dumps(result)).S == result.S).all()\n"
        "assert all(getattr(ngmca, name) is getattr(ngmca, name) for name in ngmca.__all__)\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)
