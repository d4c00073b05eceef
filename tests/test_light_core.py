"""The core without extras: it imports, separates a table, writes a report; errors have a pip line."""

import json
import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import ngmca
from ngmca._support.extras import EXTRAS, MissingPackageError, load_extra, pip_line
from ngmca.io import ReadError, read

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
IMPORTED_AS = {
    "rosettasciio": "rsciio",
    "pyimzml": "pyimzml",
    "cupy-cuda12x": "cupy",
    "orange3": "Orange",
}

# Only the packages of the core, and what they need themselves, can be imported from site-packages.
BLOCKED = """
import importlib.metadata as metadata, json, re, sys
from importlib.abc import MetaPathFinder

def closure(names):
    found, left = set(), list(names)
    while left:
        name = re.split(r"[^A-Za-z0-9._-]", left.pop())[0].lower().replace("_", "-")
        if name in found:
            continue
        found.add(name)
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        left += [one for one in needed if "extra ==" not in one]
    return found

allowed = closure(json.loads(sys.argv.pop(1)))
owners = metadata.packages_distributions()

class OnlyCore(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        by = {owner.lower().replace("_", "-") for owner in owners.get(root, [])}
        if by and "ngmca" not in by and not by & allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, OnlyCore())
"""
IMPORTS = (
    BLOCKED
    + """
import pkgutil, ngmca
from importlib import import_module
apart = ("ngmca.app", "ngmca.paper", "ngmca.tools", "ngmca.engines.dask", "ngmca.engines.gpu")
for module in pkgutil.walk_packages(ngmca.__path__, "ngmca."):
    if not module.name.startswith(apart) and module.name != "ngmca.__main__":
        import_module(module.name)
for name in dir(ngmca):
    if name != "paper":
        getattr(ngmca, name)
"""
)
COMMAND = BLOCKED + "from ngmca.cli import main\nmain()\n"


def without_extras(code, *words, folder="."):
    """Run code in a process where no extra can be imported; return its exit code and stderr."""
    command = [sys.executable, "-c", code, json.dumps(PROJECT["dependencies"]), *map(str, words)]
    done = subprocess.run(
        command, cwd=folder, env=os.environ, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_every_module_of_the_core_can_be_imported_without_extras():
    assert without_extras(IMPORTS) == (0, "")


def test_the_test_hides_the_extras():
    code, told = without_extras(BLOCKED + "import numpy, h5py, xarray")
    assert code == 1
    assert "No module named 'xarray'" in told


@pytest.fixture
def table(tmp_path):
    mixture = ngmca.simulate.sparse(12, 60, 2, snr=30.0, seed=0)
    rows = np.vstack([np.arange(400, 520, 2), mixture.Y]).T
    names = ",".join(f"m{i}" for i in range(12))
    np.savetxt(tmp_path / "a.csv", rows, "%.6g", ",", header=f"wavenumber [1/cm],{names}", comments="")
    return tmp_path / "a.csv"


def test_the_command_separates_a_table_and_writes_a_report_without_extras(table):
    code, told = without_extras(
        COMMAND, "separate", table, "-r", "2", "--n-init", "1", "-o", table.parent / "out"
    )
    assert code == 0, told
    assert (table.parent / "out" / "report.html").stat().st_size > 100_000
    assert ngmca.load(table.parent / "out").S.shape == (2, 60)


@pytest.mark.parametrize(
    ("name", "extra"),
    [("a.nc", "xarray"), ("a.zarr", "zarr"), ("a.jdx", "io"), ("a.hspy", "microscopes")],
)
def test_a_format_whose_reader_is_missing_says_its_pip_line(tmp_path, monkeypatch, name, extra):
    contents = {
        "a.nc": b"CDF\x01" + bytes(28),
        "a.jdx": b"##TITLE=x\n##END=\n",
        "a.hspy": b"\x89HDF\r\n\x1a\n",
    }
    if name == "a.zarr":
        (tmp_path / name).mkdir()
        (tmp_path / name / ".zgroup").write_text('{"zarr_format": 2}')
    else:
        (tmp_path / name).write_bytes(contents[name])
    (tmp_path / "hidden").mkdir()
    for package in ("xarray", "zarr", "jcamp", "rsciio"):
        text = f"raise ModuleNotFoundError('hidden', name={package!r})"
        (tmp_path / "hidden" / f"{package}.py").write_text(text)
        monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.syspath_prepend(tmp_path / "hidden")  # where the process that reads looks first, too
    with pytest.raises(ReadError, match=rf"which is not installed: pip install 'ngmca\[{extra}\]'"):
        read(tmp_path / name)


def test_sources_for_a_path_need_zarr_before_anything_is_computed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(MissingPackageError, match=r"out= with a path needs zarr.*'ngmca\[zarr\]'"):
        ngmca.separate(np.full((4, 5), np.inf), 2, out=tmp_path / "S.zarr")


def test_to_xarray_says_its_pip_line(monkeypatch):
    found = ngmca.separate(np.random.default_rng(0).random((4, 8)), 1, n_init=1)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingPackageError, match=r"to_xarray needs xarray.*'ngmca\[xarray\]'"):
        found.to_xarray()


def test_a_package_that_is_broken_is_not_called_absent(tmp_path, monkeypatch):
    (tmp_path / "brukeropus.py").write_text("raise ImportError('libfoo.so is missing')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "brukeropus", raising=False)
    with pytest.raises(MissingPackageError, match=r"cannot be imported \(libfoo.so is missing\): pip"):
        load_extra("brukeropus", "reading OPUS")


def test_the_table_of_extras_is_that_of_the_project():
    extras = {
        extra: {IMPORTED_AS.get(name.lower(), name.lower().replace("-", "_")) for name in names}
        for extra, given in PROJECT["optional-dependencies"].items()
        for names in [[one.split(">")[0].split("[")[0] for one in given]]
    }
    wrong = {package for package, extra in EXTRAS.items() if package not in extras.get(extra, ())}
    assert not wrong
    assert pip_line("pandas") == "pip install pandas"


def test_the_recipe_for_conda_has_the_dependencies_of_the_package():
    script = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "release_check.py"))
    script["check_recipe"]()
