"""The first page: files to open, files to drop, and earlier sessions."""

import time
from dataclasses import replace
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ngmca._support.atomic_files import write_atomically
from ngmca.app import uploads
from ngmca.app.places import Places
from ngmca.app.runs import Runner, runs_of
from ngmca.app.sessions import Session, Sessions
from ngmca.app.templates import page
from ngmca.io import ReadError
from ngmca.saving.result_folder import RECORD
from ngmca.settings import Settings, to_toml

FIRST = Settings(sources="auto")  # what a new session begins with


def home(request: Request) -> Response:
    """Show the files of a folder, a place to drop files, and the sessions."""
    places: Places = request.app.state.places
    opened, request.app.state.opened = request.app.state.opened, None
    if opened is not None:
        return _opened(request, [opened])
    folder = places.inside(request.query_params.get("path", ""))
    if not folder.is_dir():
        raise ReadError(f"{folder.name} is not a folder.")
    above = places.shown(folder.parent) if folder != places.start else None
    sessions = [_summary(one, request.app.state.runner) for one in request.app.state.sessions.all()]
    return page(
        "home", start=places.start, here=places.shown(folder), above=above, sessions=sessions,
        entries=places.listing(folder), kept=places.sessions,
    )  # fmt: skip


def _summary(session: Session, runner: Runner) -> dict[str, object]:
    runs = runs_of(session)
    states = [runner.state(one) for one in runs]
    when = time.strftime("%d %b %Y, %H:%M", time.strptime(session.name[:15], "%Y%m%d-%H%M%S"))
    return {"name": session.name, "title": session.title, "when": when, "runs": len(runs),
            "running": states.count("running"), "done": states.count("done")}  # fmt: skip


async def open_path(request: Request) -> Response:
    """Begin a session with files or a folder that are named."""
    form = await request.form()
    return _opened(request, [str(one) for one in form.getlist("path")])


def _opened(request: Request, paths: list[str]) -> Response:
    places: Places = request.app.state.places
    found = [places.inside(one) for one in paths if one]
    if not found:
        raise ReadError("choose a file or a folder first.")
    missing = [one.name for one in found if not one.exists()]
    if missing:
        raise ReadError(f"{missing[0]} does not exist.")
    session = request.app.state.sessions.new(replace(FIRST, data=tuple(map(str, found))))
    return RedirectResponse(f"/s/{session.name}", 303)


async def delete(request: Request) -> Response:
    """Stop the runs of a session, and delete it with its files."""
    sessions: Sessions = request.app.state.sessions
    session = sessions.find(request.path_params["session"])
    request.app.state.readers.end(session.folder)
    request.app.state.runner.end(session.folder)
    sessions.delete(session)
    return RedirectResponse("/", 303)


async def begin_upload(request: Request) -> Response:
    """Make a session for files that are dropped."""
    return JSONResponse({"session": request.app.state.sessions.empty().name})


async def upload(request: Request) -> Response:
    """Store one dropped file as it arrives."""
    session: Session = request.app.state.sessions.find(request.path_params["session"])
    _, size = await _stored(request, session.uploads)
    return JSONResponse({"bytes": size})


async def give_file(request: Request) -> Response:
    """Store a file for a setting of a session, such as a table of standards, as it arrives."""
    session: Session = request.app.state.sessions.find(request.path_params["session"])
    path, _ = await _stored(request, session.given)
    return JSONResponse({"path": str(path), "folder": str(path.parent)})


async def _stored(request: Request, folder: Path) -> tuple[Path, int]:
    """Store the content of a request in a folder, and return its path and its size."""
    path = uploads.place_for(folder, request.query_params.get("name", ""))
    count, size = uploads.used(folder)
    if count >= uploads.MAX_FILES:
        raise ReadError(f"more than {uploads.MAX_FILES} files were dropped. Open their folder instead.")
    length = request.headers.get("content-length", "")
    declared = int(length) if length.isdecimal() else None
    return path, await uploads.store(path, request.stream(), declared, size)


async def end_upload(request: Request) -> Response:
    """Take the dropped files as the data of their session; several files of one folder as the folder."""
    session: Session = request.app.state.sessions.find(request.path_params["session"])
    top = sorted(session.uploads.iterdir()) if session.uploads.is_dir() else []
    if not top:
        raise ReadError("no file has arrived.")
    data = (str(session.uploads),) if len(top) > 1 and _is_series(top) else tuple(map(str, top))
    write_atomically(session.folder / RECORD, to_toml(replace(FIRST, data=data)))
    return JSONResponse({"session": session.name})


def _is_series(top: list[Path]) -> bool:
    """Whether dropped files are one spectrum each, or belong together: one folder to the reader."""
    return all(one.is_file() for one in top) and (len(top) > 2 or len({one.stem for one in top}) == 1)


HOME = [
    Route("/", home),
    Route("/open", open_path, methods=["POST"]),
    Route("/upload", begin_upload, methods=["POST"]),
    Route("/upload/{session}", upload, methods=["PUT"]),
    Route("/upload/{session}", end_upload, methods=["POST"]),
    Route("/s/{session}/files", give_file, methods=["PUT"]),
    Route("/s/{session}/delete", delete, methods=["POST"]),
]
