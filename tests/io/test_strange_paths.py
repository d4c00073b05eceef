"""Paths that are no ordinary files, names that are no text, and messages that would be too long."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from ngmca.io import ReadError, fingerprint, read

Y = np.abs(np.random.default_rng(0).standard_normal((5, 40)))
posix = pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")


def refusal(path):
    with pytest.raises(ReadError) as caught:
        read(path)
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) <= 1000
    message.encode("utf-8")
    return message


@posix
def test_pipes_devices_and_sockets(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "d.csv")
    assert "d.csv is a pipe: save its output to a file first" in refusal(tmp_path / "d.csv")
    assert "is a device or a socket" in refusal("/dev/null")
    assert "is a device or a socket" in refusal("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the names of sockets are short
        listening.bind("s")
        assert "is a device or a socket" in refusal("s")
    assert "Save the standard input to a file first" in refusal("-")


STDIN = """
import sys
from ngmca.io import read
for name in sys.argv[1:]:
    try:
        print(read(name).Y.shape)
    except ValueError as error:
        print(error)
"""


@posix
@pytest.mark.parametrize("name", ["d.npy", "d.h5"])
def test_the_standard_input_is_read_where_it_is_a_file(tmp_path, name):
    np.save(tmp_path / "d.npy", Y)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["data"] = Y
    command = [sys.executable, "-c", STDIN, "/dev/stdin"]
    with (tmp_path / name).open("rb") as file:
        out = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True).stdout
    assert out.strip() == "(5, 40)"
    content = (tmp_path / name).read_bytes()
    out = subprocess.run(command, input=content, capture_output=True, check=True).stdout
    assert b"is a pipe: save its output" in out


@posix
@pytest.mark.parametrize("name", ["d.npy", "d.h5"])
def test_the_standard_input_by_any_name(tmp_path, name):
    names = [one for one in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0") if Path(one).exists()]
    np.save(tmp_path / "d.npy", Y)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["data"] = Y
    command = [sys.executable, "-c", STDIN, *names]
    with (tmp_path / name).open("rb") as file:

        def told():
            done = subprocess.run(command, stdin=file, capture_output=True, text=True, check=True)
            lines = done.stdout.splitlines()
            return [*zip(names, lines, strict=True)]

        assert all(line == "(5, 40)" for _, line in told())
        (tmp_path / name).unlink()  # as a shell does with its here-documents
        for asked, line in told():
            assert f"{asked} is a file without a name: save it to a file first" in line
        (tmp_path / f"{name} (deleted)").write_bytes(b"1 2 3\n")
        assert all("is a file without a name" in line for _, line in told())


def test_an_empty_path_is_not_the_folder_that_we_are_in(tmp_path, monkeypatch):
    np.save(tmp_path / "d.npy", Y)
    monkeypatch.chdir(tmp_path)
    assert "its name is empty" in refusal("")
    assert "its name is empty" in refusal(["d.npy", ""])
    assert read(".").Y.shape == Y.shape


def test_files_that_do_not_go_together_are_told_with_their_folder(tmp_path):
    (tmp_path / "spectra").mkdir()
    for name, width in (("a", 30), ("b", 40)):
        np.save(tmp_path / "spectra" / f"{name}.npy", Y[:, :width])
    message = refusal(tmp_path / "spectra")
    assert message.startswith(f"{tmp_path / 'spectra'}: the files have 30, 40 channels and no axis")


@posix
def test_loops_of_links_and_names_that_cannot_be(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "b.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "a.csv")
    assert "a.csv cannot be read: " in refusal(tmp_path / "a.csv")
    assert "cannot be read: " in refusal(tmp_path / ("x" * 300))
    assert "cannot be read: " in refusal("a\0b")


@pytest.fixture
def nobody():
    """Permissions bind everybody but root: be somebody else."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)


@posix
@pytest.mark.parametrize(
    "closed", [("folder/d.h5", "folder/d.h5"), ("folder", "folder/d.h5"), ("folder",) * 2]
)
def test_no_permission(tmp_path, closed, request):
    shut, asked = closed
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "d.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    (tmp_path / shut).chmod(
        0o600 if asked == "folder" else 0
    )  # a folder that can be listed, not entered
    request.getfixturevalue("nobody")
    assert "cannot be read: Permission denied" in refusal(tmp_path / asked)


@posix
def test_names_that_are_not_text(tmp_path):
    name = os.fsdecode(b"caf\xe9\x1b[31m")
    try:
        (tmp_path / f"{name}.csv").write_text("a,b\n1,x\n")
    except OSError:
        pytest.skip("names are text on this file system")
    assert r"caf\xe9\x1b[31m.csv" in refusal(tmp_path / f"{name}.csv")
    (tmp_path / "folder").mkdir()
    for end in ("1", "2"):
        with h5py.File(str(tmp_path / "d.h5"), "w") as file:
            file["data"] = Y[:1]
        (tmp_path / "d.h5").rename(tmp_path / "folder" / f"{name}{end}.h5")
    data = read(tmp_path / "folder", dataset="data")
    assert data.row_names == (r"caf\xe9\x1b[31m1", r"caf\xe9\x1b[31m2")
    for text in (*data.row_names, *data.notes, data.meta["path"]):
        text.encode("utf-8")
    assert r"\xe9\x1b[31m does not exist" in refusal(tmp_path / name)
    assert fingerprint([tmp_path / "folder"]) != fingerprint([tmp_path / f"{name}.csv"])


def test_long_cells_and_long_complaints_are_cut(tmp_path, monkeypatch):
    (tmp_path / "d.csv").write_text("1 2 3\n4 5 " + "x" * 5_000_000 + "\n")
    assert "line 2, column 3 holds 'xxx" in refusal(tmp_path / "d.csv")
    (tmp_path / "hidden").mkdir()
    code = "def readfile(path):\n    raise KeyError('y\\n' * 1_000_000)\n"
    (tmp_path / "hidden" / "jcamp.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path / "hidden")
    (tmp_path / "d.jdx").write_text("##TITLE=x\n##END=\n")
    assert "d.jdx: jcamp cannot read it: " in refusal(tmp_path / "d.jdx")
    assert len(str(ReadError("z" * 10_000))) <= 1000
    assert str(ReadError("a\x1b]0;b")) == r"a\x1b]0;b"


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_complex_numbers_are_refused_by_name(tmp_path, save):
    save(tmp_path / "d.npz", S=Y * 1j)
    with pytest.raises(ReadError, match=r"S in .*d\.npz is complex"):
        read(Path(tmp_path / "d.npz"), dataset="S", transpose=False)
