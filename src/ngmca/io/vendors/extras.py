"""Libraries of the field that come with `pip install ngmca[io]`."""

import importlib
from typing import Any

from ngmca.io.dataset import ReadError


def require(module: str, purpose: str) -> Any:
    """A module of the extra `io`, or an error that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ReadError(
            f"{purpose} is read by {library}, which is not installed: pip install 'ngmca[io]'."
        ) from error
