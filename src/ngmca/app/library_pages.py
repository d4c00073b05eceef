"""Spectra of a reference library that a person takes as known spectra."""

import json
import secrets
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ngmca.app.forms import in_words
from ngmca.app.kept_data import kept
from ngmca.app.previews import LIBRARY_FOLDER, PREVIEW
from ngmca.app.session_pages import session_of, state_of
from ngmca.app.sessions import Session
from ngmca.io import ReadError, write_table


def names(request: Request) -> Response:
    """Return the names of the spectra in the library of a session, or how far their reading is."""
    session = session_of(request)
    if session.settings.library is None:
        raise ReadError("choose a reference library first.")
    found = request.app.state.readers.library(session.folder)
    if found.error is not None:
        raise ReadError("{}", in_words(found.error))
    if found.facts is None:
        return JSONResponse({"seconds": round(found.seconds, 1)})
    return JSONResponse({"names": found.facts["names"]})


async def choose(request: Request) -> Response:
    """Take spectra of the library as known spectra; their scale is free."""
    session = session_of(request)
    chosen = [
        int(str(one)) for one in (await request.form()).getlist("spectrum") if str(one).isdecimal()
    ]

    def changed() -> Response:
        path = _written(session, chosen)
        session.change(session.settings.changed(known_sources=str(path), known_scale="free"))
        return JSONResponse(state_of(session))

    return await run_in_threadpool(changed)


def _written(session: Session, chosen: list[int]) -> Path:
    """Write spectra of the library at those channels of the data that all of them have."""
    data, _ = kept(session.folder / PREVIEW)
    called = json.loads((session.folder / LIBRARY_FOLDER / "facts.json").read_text(encoding="utf-8"))[
        "names"
    ]
    if not chosen or max(chosen) >= len(called):
        raise ReadError("choose one spectrum of the library, or several.")
    with np.load(session.folder / LIBRARY_FOLDER / "spectra.npz") as stored:
        pairs = [(stored[f"axis-{k}"], stored[f"values-{k}"]) for k in chosen]
    x: NDArray = data.positions
    values = [np.interp(x, axis, y, left=np.nan, right=np.nan) for axis, y in pairs]
    there = np.isfinite(values).all(axis=0)
    if there.sum() < 2:
        raise ReadError("the chosen spectra have no part of the axis in common with the data.")
    unit = f" [{data.axis_unit}]" if data.axis_unit else ""
    columns = {called[k]: np.maximum(y[there], 0) for k, y in zip(chosen, values, strict=True)}
    path = session.folder / "pasted" / f"known_sources-{secrets.token_hex(4)}.csv"
    path.parent.mkdir(exist_ok=True)
    write_table(path, {f"{data.axis_name}{unit}": x[there]} | columns)
    return path


LIBRARY = [
    Route("/s/{session}/library", names),
    Route("/s/{session}/library", choose, methods=["POST"]),
]
