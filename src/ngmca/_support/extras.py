"""Packages that only some features need: the extra that installs each, and the error without it."""

from importlib import import_module
from typing import Any

EXTRAS = {  # by the name that is imported; others are installed by this name
    "xarray": "xarray",
    "h5netcdf": "xarray",
    "zarr": "zarr",
    "brukeropus": "io",
    "jcamp": "io",
    "nmrglue": "io",
    "pyimzml": "io",
    "python_calamine": "io",
    "spectral": "io",
    "spectrochempy_omnic": "io",
    "rsciio": "microscopes",
    "matplotlib": "plot",
    "jinja2": "app",
    "python_multipart": "app",
    "starlette": "app",
    "uvicorn": "app",
    "nmrsim": "paper",
    "anywidget": "notebook",
    "cupy": "gpu",
}


class MissingPackageError(ImportError):
    """A feature needs a package that is not installed; the text says how to install it."""


def pip_line(package: str) -> str:
    """Return the command that installs what a feature needs.

    Examples
    --------
    >>> pip_line("zarr")
    "pip install 'ngmca[zarr]'"
    >>> pip_line("pandas")
    'pip install pandas'
    """
    return f"pip install 'ngmca[{EXTRAS[package]}]'" if package in EXTRAS else f"pip install {package}"


def load_extra(module: str, purpose: str) -> Any:
    """Return a module that only `purpose` needs; raise an error with the pip line without it."""
    package = module.partition(".")[0]
    try:
        import_module(package)
        return import_module(module)
    except ModuleNotFoundError as error:
        absent = (error.name or package).partition(".")[0]
        text = f"{purpose} needs {absent}, which is not installed: {pip_line(package)}"
        raise MissingPackageError(text, name=package) from error
    except ImportError as error:
        text = f"{purpose} needs {package}, which cannot be imported ({error}): {pip_line(package)}"
        raise MissingPackageError(text, name=package) from error
