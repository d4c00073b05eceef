"""Libraries that some formats need; `pip install ngmca[io]` installs them."""

import importlib
from typing import Any

from ngmca.io.read_error import ReadError


def require(module: str, purpose: str) -> Any:
    """Return a module of the extra `io`; raise an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.split(".")[0]
        raise ReadError(
            f"{purpose} is read with {library}, which is not installed: pip install 'ngmca[io]'."
        ) from error
