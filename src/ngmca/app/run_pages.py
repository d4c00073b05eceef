"""The runs of a session: how far each is, what it said, and how it is stopped or continued."""

import time
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from ngmca.app.forms import in_words, settings_in
from ngmca.app.kept_data import kept
from ngmca.app.previews import PREVIEW
from ngmca.app.runs import KILLED_WORDS, RunFolder, Runner, run_of, runs_of
from ngmca.app.session_pages import session_of
from ngmca.io import ReadError
from ngmca.report import plotly_style as look
from ngmca.report.answer_figures import stacked


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
        files = (settings := run.settings).data, settings.files.values()
        found["words"] = (
            in_words(run.error, chain(*files)) or "The run ended with an error: see its log."
        )
        found["change"] = settings_in(run.error)
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
        words += ". Compiling for the first time on this machine, which takes about 10 seconds"
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


def log(request: Request) -> Response:
    """Return what the command printed."""
    return PlainTextResponse(run_of(session_of(request), request.path_params["run"]).log)


RUNS = [
    Route("/s/{session}/runs", all_runs),
    Route("/s/{session}/runs/{run}/live", live),
    Route("/s/{session}/runs/{run}/log", log),
    *(Route(f"/s/{{session}}/runs/{{run}}/{do}", steer, methods=["POST"]) for do in ("stop", "resume")),
]
