"""A session: what is in the data, what is to be done with them, and its runs."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ngmca.app.forms import choices_in, form, in_words, label, reasons, settings_from
from ngmca.app.kept_data import kept
from ngmca.app.places import Places
from ngmca.app.previews import PREVIEW
from ngmca.app.runs import KILLED_WORDS, RunFolder, Runner, run_of, runs_of
from ngmca.app.sessions import Session
from ngmca.app.templates import page
from ngmca.io import Dataset, ReadError
from ngmca.report import plotly_style as look
from ngmca.report import preview_figures
from ngmca.report.answer_figures import stacked
from ngmca.saving.result_folder import RECORD
from ngmca.settings import Settings
from ngmca.settings.selection import parse_left_out, parse_range

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
        nearby=_nearby(settings, places), label=label,
        toml=(session.folder / RECORD).read_text(encoding="utf-8", errors="replace"),
    )  # fmt: skip


def _nearby(settings: Settings, places: Places) -> list[str]:
    """Return files and folders beside the data, for fields that name one."""
    folder = Path(settings.data[0]).parent
    if not folder.is_relative_to(places.start) or not folder.is_dir():
        return []
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
        return JSONResponse(_state(session))

    return await run_in_threadpool(changed)


def _state(session: Session) -> dict[str, Any]:
    """Return what a page shows about the settings of a session."""
    settings = session.settings
    groups = {name: given for name, _, _, given in form(settings)}
    made = [one for _, _, group, _ in form(settings) for one in group]
    toml = (session.folder / RECORD).read_text(encoding="utf-8", errors="replace")
    values = {one.name: one.value for one in made}
    return {"values": values, "reasons": reasons(settings), "given": groups, "toml": toml,
            "undo": bool(session.steps)}  # fmt: skip


async def undo(request: Request) -> Response:
    """Take the last change back."""
    session = session_of(request)
    session.undo()
    return JSONResponse(_state(session))


def preview(request: Request) -> Response:
    """Return what is in the data, or how far their reading is."""
    session = session_of(request)
    found = request.app.state.readers.preview(session.folder)
    if found.error is not None:
        return JSONResponse({"error": in_words(found.error), "choices": choices_in(found.error)})
    if found.facts is None:
        return JSONResponse({"seconds": round(found.seconds, 1)})
    facts = found.facts | {"notes": [in_words(note) for note in found.facts["notes"]]}
    facts["words"] = _described(facts)
    facts.pop("row_names")
    return JSONResponse({"facts": facts})


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
    low, high = float(data.positions.min()), float(data.positions.max())
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


def all_runs(request: Request) -> Response:
    """Return how far each run of a session is."""
    session, runner = session_of(request), request.app.state.runner
    return JSONResponse([told(runner, one) for one in runs_of(session)])


def told(runner: Runner, run: RunFolder) -> dict[str, Any]:
    """Return what a page shows of a run."""
    state, progress = runner.state(run), run.progress
    found = {"number": run.number, "state": state, "at": run.facts.get("at", ""), "words": ""}
    if state == "running":
        found |= _under_way(progress)
    elif state == "failed":
        found["words"] = in_words(run.error) or "The run ended with an error. Its log says more."
    elif state == "killed":
        found["words"] = KILLED_WORDS + (
            "What it had is kept: continue it." if run.can_resume else "Nothing was kept: run it again."
        )
    elif state == "stopped":
        found["words"] = "Stopped. " + (
            "What was found so far is kept." if run.can_resume else "There was nothing to keep yet."
        )
    found["can_resume"] = state in ("stopped", "killed") and run.can_resume
    found["live"] = state != "done" and "sources" in progress
    return found


def _under_way(progress: dict[str, Any]) -> dict[str, Any]:
    """Return stage, share and time left of a run."""
    stage = str(progress.get("stage", "starting"))
    words = {"separating": "Separating", "reading": "Reading the data"}.get(stage, stage.capitalize())
    done, total = progress.get("iteration", 0), progress.get("iterations", 0)
    if stage == "trying other starts":
        done, total = progress["other_iterations"], total * (progress.get("starts", 1) - 1)
    elif stage != "separating":
        done = total = 0
    found: dict[str, Any] = {"share": min(1.0, done / total) if total else None}
    if progress.get("compiling"):
        words += ". Compiling for the first time on this machine, which takes about half a minute"
    if done and total:
        spent = time.time() - progress["stage_begun"]
        found["left"] = max(0, round(spent * (total - done) / done))
    if stage == "separating" and "threshold" in progress:
        found["threshold"], found["residual"] = progress["threshold"], progress["residual"]
    return found | {"words": words}


def live(request: Request) -> Response:
    """Return the figure of the sources as they are now."""
    session = session_of(request)
    progress = run_of(session, request.path_params["run"]).progress
    if "sources" not in progress:
        raise ReadError("there are no sources yet.")
    figure = stacked(np.array(progress["axis"]), np.array(progress["sources"]), "")
    if (session.folder / PREVIEW).is_dir():  # it knows the unit and the direction of the axis
        look.axis_of(figure, replace(kept(session.folder / PREVIEW)[0], axis=np.array(progress["axis"])))
    return Response(figure.to_json(), media_type="application/json")


async def steer(request: Request) -> Response:
    """Stop or continue a run."""
    session, runner = session_of(request), request.app.state.runner
    run = run_of(session, request.path_params["run"])
    if request.url.path.endswith("/stop"):
        runner.stop(run)
    elif runner.state(run) in ("stopped", "killed"):
        runner.resume(run)
    return RedirectResponse(f"/s/{session.name}#runs", 303)


SESSION = [
    Route("/s/{session}", show),
    Route("/s/{session}/settings", change, methods=["POST"]),
    Route("/s/{session}/undo", undo, methods=["POST"]),
    Route("/s/{session}/preview", preview),
    Route("/s/{session}/spectrum", spectrum),
    Route("/s/{session}/runs", all_runs),
    Route("/s/{session}/runs/{run}/live", live),
    *(Route(f"/s/{{session}}/runs/{{run}}/{do}", steer, methods=["POST"]) for do in ("stop", "resume")),
]
