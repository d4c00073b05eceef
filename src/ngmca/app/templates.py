"""Pages from templates; every value is escaped, so names out of files never become markup."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse

_PAGES = Environment(
    loader=PackageLoader("ngmca.app", "pages"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
STATIC = Path(__file__).parent / "static"


def size(count: int) -> str:
    """Return a number of bytes in words."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count = count / 1000  # type: ignore[assignment]
    return f"{count:.3g} GB"


_PAGES.filters["size"] = size


def page(name: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page."""
    return HTMLResponse(_PAGES.get_template(f"{name}.html").render(**values), status)
