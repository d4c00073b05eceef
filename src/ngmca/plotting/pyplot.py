"""Matplotlib, which is loaded only when a picture is drawn."""

from types import ModuleType


def load_pyplot() -> ModuleType:
    """Return matplotlib.pyplot; raise an error that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot needs matplotlib: pip install 'ngmca[plot]'") from error
    module: ModuleType = pyplot
    return module
