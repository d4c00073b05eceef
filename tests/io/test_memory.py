"""Files that ask for more memory than there is are refused with the numbers, before they get it."""

import gzip
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from ngmca.io import ReadError, read
from ngmca.io import claimed_sizes as sizes
from ngmca.io.tables import text_reader as text

pytestmark = pytest.mark.own_process

TABLES = {
    "short cells": "\n".join([",".join(["7"] * 1000)] * 1000),
    "long cells": "\n".join([",".join(["1.2345678901234567e-05"] * 250)] * 250),
    "many lines": "1.2345,6.7891\n" * 25_000,
    "white space": "\n".join(["12 34 56 78"] * 25_000),
    "named lines": "".join(f"name{i},12,34\n" for i in range(6_000)),
    "named lines, Windows": "".join(f"name{i},12,34\r\n" for i in range(6_000)),
    "named lines, old Mac": "".join(f"name{i},12,34\r" for i in range(6_000)),
    "named lines, next lines": "".join(f"name{i},12,34\x85" for i in range(6_000)),
}


@pytest.mark.parametrize("name", TABLES)
def test_the_memory_that_text_takes_is_foreseen(tmp_path, monkeypatch, name):
    monkeypatch.setattr(text, "PIECE_BYTES", 1 << 18)  # room to read a piece is small beside the rest
    content = TABLES[name].encode("latin-1")
    (tmp_path / "t.csv").write_bytes(content)
    tracemalloc.start()
    read(tmp_path / "t.csv")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 * peak < text.memory_for(content) < 3 * peak


def test_little_gzip_that_holds_much_is_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(b"0,0,0,0\n" * (1 << 17))  # 1 MB
    assert path.stat().st_size < 3e6
    monkeypatch.setattr(text, "memory_left", lambda: 5e8)
    tracemalloc.start()
    with pytest.raises(ReadError, match=r"16\.8 MB of text takes about .* and 500 MB of memory is free"):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e8


def test_claims_are_held_against_what_is_left(tmp_path, monkeypatch):
    np.save(tmp_path / "d.npy", np.zeros((100, 100)))
    np.savez_compressed(tmp_path / "d.npz", **{f"a{i}": np.zeros((50, 100)) for i in range(4)})
    for left, names in (
        (170_000.0, ()),
        (150_000.0, ("d.npy", "d.npz")),
    ):  # 80 kB are claimed, 160 the four
        monkeypatch.setattr(sizes, "memory_left", lambda left=left: left)
        for name in names:
            with pytest.raises(
                ReadError, match="reading takes twice as much, and 150 kB of memory is free"
            ):
                read(tmp_path / name, dataset="a0")
        if not names:
            assert read(tmp_path / "d.npy").Y.shape == (100, 100)


def group(folder, limit, used, version=2):
    """The files of a control group."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("max", "current") if version == 2 else ("limit_in_bytes", "usage_in_bytes")
    for name, value in zip(names, (limit, used), strict=True):
        (folder / f"memory.{name}").write_text(f"{value}\n")
    (folder / "memory.stat").write_text("anon 100\ninactive_file 50\n")


@pytest.mark.parametrize(
    ("version", "line", "root"), [(2, "0::", ""), (1, "3:cpu:/other\n4:memory:", "memory")]
)
def test_the_limits_of_containers_and_jobs_count(tmp_path, monkeypatch, version, line, root):
    """Of the group of this process and of all around it, the one that leaves least."""
    monkeypatch.setattr(sizes, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(sizes, "OWN_GROUPS", tmp_path / "own")
    without = sizes.memory_left()
    assert 0 < without <= sizes.memory_bytes()
    (tmp_path / "own").write_text(f"{line}/jobs/mine: 1\n")
    top = tmp_path / "groups" / root
    group(top, 1000, 300, version)  # a container that sees nothing but its own
    assert sizes.memory_left() == 750
    group(top / "jobs" / "mine: 1", 500, 300, version)
    group(top / "jobs" / "another", 310, 300, version)
    assert sizes.memory_left() == 250
    group(top / "jobs", 400, 300, version)
    assert sizes.memory_left() == 150
    group(top / "jobs", 400, 700, version)
    assert sizes.memory_left() == 0
    for folder in (top, top / "jobs", top / "jobs" / "mine: 1"):
        group(folder, "max", 300, version)
    assert sizes.memory_left() == pytest.approx(without, rel=0.5)


LIMITED = """
import resource
from ngmca._support.isolated_process import IsolatedProcess
from ngmca.io import claimed_sizes as sizes
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
print(sizes.memory_left())
with IsolatedProcess(memory=1e12) as apart:
    print(*apart.call("resource:getrlimit", resource.RLIMIT_AS, seconds=60))
with IsolatedProcess(memory=1e9) as apart:
    print(*apart.call("resource:getrlimit", resource.RLIMIT_AS, seconds=60))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not hold to limits of memory")
def test_a_limit_that_the_user_set_is_kept():
    command = [sys.executable, "-c", LIMITED]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert 0 < float(out[0]) < 4 << 30
    assert int(out[1].split()[0]) == 4 << 30
    assert 1e9 < int(out[2].split()[0]) < 4 << 30


def test_one_absurd_mass_does_not_make_an_absurd_table(tmp_path):
    pytest.importorskip("pyimzml", reason="needs the extra io")
    from pyimzml.ImzMLWriter import ImzMLWriter

    with ImzMLWriter(str(tmp_path / "d"), mode="processed") as writer:
        writer.addSpectrum([100.01, 1e11], [1.0, 2.0], (1, 1, 1))
        writer.addSpectrum([100.02, 180.0], [4.0, 8.0], (2, 1, 1))
    data = read(tmp_path / "d.imzML")
    np.testing.assert_allclose(data.Y, [[1, 0, 2], [4, 8, 0]])
    np.testing.assert_allclose(data.axis, [100.05, 180.05, 1e11], atol=0.1, rtol=1e-9)
    with ImzMLWriter(str(tmp_path / "n"), mode="processed") as writer:
        writer.addSpectrum([100.01, np.nan], [1.0, 2.0], (1, 1, 1))
        writer.addSpectrum([100.02, 180.0], [4.0, 8.0], (2, 1, 1))
    with pytest.raises(ReadError, match="missing or infinite values"):
        read(tmp_path / "n.imzML")
