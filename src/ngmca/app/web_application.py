"""The application: its addresses, and errors as pages or JSON."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from plotly.offline import get_plotlyjs
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from ngmca.app.forms import in_words
from ngmca.app.guard import Guard
from ngmca.app.home_pages import HOME
from ngmca.app.library_pages import LIBRARY
from ngmca.app.places import Places
from ngmca.app.previews import Readers
from ngmca.app.result_pages import RESULTS
from ngmca.app.run_pages import RUNS
from ngmca.app.runs import Runner
from ngmca.app.session_pages import SESSION
from ngmca.app.sessions import Sessions
from ngmca.app.templates import STATIC, page
from ngmca.io import ReadError


def application(
    start: Path, folder: Path, token: str, hosts: tuple[str, ...], opened: str | None = None
) -> Guard:
    """Return the application, behind the guard that checks every request.

    Parameters
    ----------
    start : Path
        The folder whose files may be opened.
    folder : Path
        Where sessions are kept.
    token : str
        The secret in the address.
    hosts : tuple of str
        Names of the server with their port; the first is shown.
    opened : str, optional
        A file below `start` to open first.
    """
    routes = [
        *HOME,
        *SESSION,
        *RUNS,
        *LIBRARY,
        *RESULTS,
        Route("/plotly.js", _plotly),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    errors = {ReadError: _wrong_input, HTTPException: _no_page, Exception: _internal}
    app = Starlette(routes=routes, exception_handlers=errors, lifespan=_lifespan)
    folder.mkdir(parents=True, exist_ok=True)
    app.state.places = Places(start.resolve(), folder.resolve())
    app.state.sessions = Sessions(folder.resolve())
    app.state.runner, app.state.readers, app.state.opened = Runner(), Readers(), opened
    return Guard(app, hosts, token)


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Stop all processes at the end; runs keep what they have."""
    yield
    app.state.readers.end()
    app.state.runner.end()


def _plotly(request: Request) -> Response:
    """Return the copy of Plotly that the report also has."""
    headers = {"Cache-Control": "private, max-age=86400"}
    return Response(get_plotlyjs(), media_type="text/javascript", headers=headers)


def _wrong_input(request: Request, error: Exception) -> Response:
    return _told(request, in_words(getattr(error, "message", str(error))), 400)


def _no_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _told(request, error.detail, error.status_code)


def _internal(request: Request, error: Exception) -> Response:
    text = f"Internal error: {type(error).__name__}: {error}. Please report it."
    return _told(request, text[:500], 500)


def _told(request: Request, text: str, status: int) -> Response:
    """Return an error, as a page where a person looks at it."""
    if "text/html" in request.headers.get("accept", ""):
        return page("error", status, text=text)
    return JSONResponse({"error": text}, status)
