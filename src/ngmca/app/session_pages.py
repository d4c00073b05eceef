"""A session: what is in the data, and what is to be done with them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ngmca.app.forms import choices_in, form, in_words, label, reasons, settings_from, steps_of
from ngmca.app.kept_data import kept
from ngmca.app.places import Places
from ngmca.app.previews import PREVIEW
from ngmca.app.sessions import Session
from ngmca.app.templates import page
from ngmca.io import Dataset, ReadError
from ngmca.io.isolated_reading import OPTIONS
from ngmca.report import preview_figures
from ngmca.saving.result_folder import RECORD
from ngmca.settings import Settings
from ngmca.settings.selection import parse_left_out, parse_range

ONE_MEASUREMENT = (
    "This file has one measurement. To find sources, several with different amounts are needed: put the "
    "files into one folder, and open the folder."
)
MAX_NEARBY = 300  # files beside the data that a field offers


def session_of(request: Request) -> Session:
    """Return the session in the address."""
    found: Session = request.app.state.sessions.find(request.path_params["session"])
    return found


def show(request: Request) -> Response:
    """Show a session."""
    session, places = session_of(request), request.app.state.places
    settings = session.settings
    return page(
        "session", session=session, settings=settings, groups=list(form(settings)),
        data=[places.shown(one) for one in settings.data], can_undo=bool(session.steps),
        nearby=_nearby(settings, places), label=label, steps=steps_of(session),
        toml=(session.folder / RECORD).read_text(encoding="utf-8", errors="replace"),
    )  # fmt: skip


def _nearby(settings: Settings, places: Places) -> list[str]:
    """Return files and folders beside the data, or in the start folder, for fields that name one."""
    folder = Path(settings.data[0]).parent
    if not folder.is_relative_to(places.start) or not folder.is_dir():
        folder = places.start
    return [entry.path for entry in places.listing(folder)][:MAX_NEARBY]


async def change(request: Request) -> Response:
    """Keep the fields of the form; with the button Run, also start a run."""
    session, places = session_of(request), request.app.state.places
    given = await request.form(max_fields=2000, max_part_size=30_000_000)
    running = given.get("do") == "run"

    def changed() -> Response:
        session.change(settings_from(given, session, places))
        if running:
            request.app.state.runner.start(session)
            return RedirectResponse(f"/s/{session.name}#runs", 303)
        return JSONResponse(state_of(session))

    return await run_in_threadpool(changed)


def state_of(session: Session) -> dict[str, Any]:
    """Return what a page shows about the settings of a session."""
    settings = session.settings
    groups = {name: given for name, _, _, given in form(settings)}
    made = [one for _, _, group, _ in form(settings) for one in group]
    toml = (session.folder / RECORD).read_text(encoding="utf-8", errors="replace")
    values = {one.name: one.value for one in made}
    return {"values": values, "reasons": reasons(settings), "given": groups, "toml": toml,
            "undo": bool(session.steps), "steps": steps_of(session)}  # fmt: skip


def state(request: Request) -> Response:
    """Return the settings as a page shows them."""
    return JSONResponse(state_of(session_of(request)))


async def switch(request: Request) -> Response:
    """Switch a step off, or on again with the value that it had."""
    session, name = session_of(request), str((await request.form()).get("name", ""))
    session.switch(name)
    request.app.state.places.check(session.settings)
    return JSONResponse(state_of(session))


async def undo(request: Request) -> Response:
    """Take the last change back."""
    session = session_of(request)
    session.undo()
    return JSONResponse(state_of(session))


def preview(request: Request) -> Response:
    """Return what is in the data, or how far their reading is."""
    session = session_of(request)
    files = session.settings.data
    found = request.app.state.readers.preview(session.folder)
    if found.error is not None:
        return JSONResponse({"error": in_words(found.error, files), "choices": choices_in(found.error)})
    if found.facts is None:
        return JSONResponse({"seconds": round(found.seconds, 1)})
    facts = found.facts | {"notes": [in_words(note, files) for note in found.facts["notes"]]}
    facts["words"] = _described(facts)
    if facts["measurements"] == 1:
        facts["notes"].insert(0, ONE_MEASUREMENT)
    facts["named"] = bool(facts.pop("row_names"))
    return JSONResponse({"facts": facts, "unfit": _unfit(facts["meta"], session.settings)})


def _unfit(meta: dict[str, Any], settings: Settings) -> list[str]:
    """Return the fields about reading that files of this format, or a single file, do not have."""
    known = {name for formats, _ in OPTIONS.values() for name in formats}
    unfit = [] if len(settings.data) > 1 else ["shared"]
    if meta.get("format") in known:
        unfit += [name for name, (formats, _) in OPTIONS.items() if meta["format"] not in formats]
    return [name for name in unfit if name not in settings.given]


def _described(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the facts about data that are shown, in words."""
    m, n, shape = facts["measurements"], facts["channels"], facts["image_shape"]
    kind = f"{m} pixels of an image, {shape[0]} x {shape[1]}" if shape else f"{m}"
    unit = f" [{facts['axis_unit']}]" if facts["axis_unit"] else ""
    low, high = facts["at"]
    axis = f"{facts['axis_name']}{unit}, from {low:g} to {high:g} in the file"
    names = ", ".join(facts["row_names"][:3]) + (" …" if m > 3 else "")
    words = [
        ("Format", str(facts["meta"].get("format", "unknown"))),
        ("Measurements", kind + (f": {names}" if facts["row_names"] and not shape else "")),
        ("Channels", f"{n}, one at each position of the axis"),
        ("Axis", axis if facts["has_axis"] else "none: channels are numbered"),
        ("Values", f"{facts['low']:.4g} to {facts['high']:.4g}"),
    ]
    if facts["row_label"]:
        words.insert(2, ("Coordinate", facts["row_label"]))
    return [*words, ("Missing", f"{100 * facts['missing']:.2g} %")] if facts["missing"] else words


def spectrum(request: Request) -> Response:
    """Return the figure of one measurement, with what is left out in grey."""
    session = session_of(request)
    data, rows = kept(session.folder / PREVIEW)
    wanted = request.query_params.get("row", "0")
    k = int(np.abs(rows - (int(wanted) if wanted.isdecimal() else 0)).argmin())
    grey, error = _left_out(data, session.settings)
    figure = preview_figures.spectra(data, [(int(rows[k]), np.asarray(data.Y[k], dtype=float))], grey)
    return Response(
        f'{{"row": {int(rows[k])}, "used": {_used(data, grey)}, "figure": {figure.to_json()}, '
        f'"error": {json.dumps(error)}}}',
        media_type="application/json",
    )


def _left_out(data: Dataset, settings: Settings) -> tuple[list[tuple[float, float]], str]:
    """Return the parts of the axis that are not used, and an error in what a person wrote."""
    ends = data.positions.min(), data.positions.max()  # which are left out, too
    low, high = float(np.nextafter(ends[0], -np.inf)), float(np.nextafter(ends[1], np.inf))
    grey = []
    try:
        if settings.range and settings.shared != "mixing":
            first, last = sorted(parse_range(settings.range))
            grey += [(a, b) for a, b in ((low, first), (last, high)) if a < b]
        grey += parse_left_out(settings.leave_out or "")
    except ReadError as error:
        return [], in_words(str(error))
    return grey, ""


def _used(data: Dataset, grey: list[tuple[float, float]]) -> int:
    """Return how many channels are left."""
    gone = np.zeros(data.Y.shape[1], dtype=bool)
    for low, high in grey:
        gone |= (data.positions > low) & (data.positions < high)
    return int((~gone).sum())


SESSION = [
    Route("/s/{session}", show),
    Route("/s/{session}/settings", state),
    Route("/s/{session}/settings", change, methods=["POST"]),
    Route("/s/{session}/undo", undo, methods=["POST"]),
    Route("/s/{session}/preview", preview),
    Route("/s/{session}/spectrum", spectrum),
    Route("/s/{session}/switch", switch, methods=["POST"]),
]
