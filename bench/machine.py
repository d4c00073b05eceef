"""What the figures were measured on."""

import os
import platform
from importlib import metadata
from pathlib import Path

PACKAGES = ("ngmca", "numpy", "scipy", "numba", "scikit-learn", "tensorly", "nimfa")


def describe() -> dict[str, object]:
    """The machine, the versions and the load."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
