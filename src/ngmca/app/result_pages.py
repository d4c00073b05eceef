"""A result: its verdict, its figures, its files, and two results side by side."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from ngmca.answers.run import Run
from ngmca.app.forms import in_words
from ngmca.app.guard import POLICY_OF_REPORTS
from ngmca.app.kept_data import kept
from ngmca.app.previews import ROWS
from ngmca.app.repeat import command_line, python_lines
from ngmca.app.runs import RunFolder, run_of, runs_of
from ngmca.app.session_pages import session_of
from ngmca.app.templates import page
from ngmca.io import ReadError
from ngmca.report import comparison, figures, mixing_figures
from ngmca.report.answer_figures import amounts_of
from ngmca.report.plotly_figure import Figure
from ngmca.saving import result_folder
from ngmca.saving.results import load_run
from ngmca.settings import Settings

WHAT_IS_IN = {
    "sources.csv": "the spectra", "mixing.csv": "the amounts in every measurement", "amounts.csv":
    "calibrated amounts with intervals", "identification.csv": "the best matches in the library",
    "rank.csv": "criteria for the number of sources", "background.csv": "the background",
    "outliers.csv": "spikes", "rates.csv": "rate constants",
    "result.nc": "everything, as NetCDF (HDF5), for xarray and ngmca.load",
    "run.toml": "the settings: ngmca separate --config run.toml -o AGAIN", "report.html": "the report",
}  # fmt: skip


@lru_cache(maxsize=4)
def _loaded(path: Path, stamp: int) -> Run:
    return load_run(path)


def run_at(run: RunFolder) -> Run:
    """Return what a finished run has found."""
    if not run.done:
        raise ReadError(f"run {run.number} has no result yet.")
    return _loaded(run.result, (run.result / result_folder.RESULT).stat().st_mtime_ns)


def _run(request: Request) -> RunFolder:
    return run_of(session_of(request), request.path_params["run"])


def show(request: Request) -> Response:
    """Show a result."""
    session, folder = session_of(request), _run(request)
    run, settings = run_at(folder), folder.settings
    there = [name for name in result_folder.FILES if (folder.result / name).is_file()]
    files = [(name, (folder.result / name).stat().st_size, WHAT_IS_IN.get(name, "")) for name in there]
    others = [one.number for one in runs_of(session) if one.done and one.number != folder.number]
    verdict = run.verdict
    return page(
        "result", session=session, run=folder, others=others, files=files, verdict=verdict,
        text=in_words(verdict.text), next_step=in_words(verdict.next_step or ""),
        warnings=[(one.title, in_words(one.text)) for one in verdict.findings],
        can_step=bool(_next_change(run)), sentences=[(a, in_words(b)) for a, b in run.answer_sentences],
        measurements=len(run.separation.A), image=run.data.image_shape, labels=run.labels,
        names=run.answers.given or [""] * len(run.labels),
        figures=_figure_names(run), command=command_line(settings),
        python=python_lines(settings, len(run.separation.S)), folder=folder.result,
    )  # fmt: skip


def _figure_names(run: Run) -> list[tuple[str, str]]:
    """Return the figures that can be chosen, the one that is shown first before the others."""
    amounts, spectra = run.answers.amounts, ("sources", "Spectra of the sources")
    names = [] if amounts is None else [
        (f"amounts-{j}", f"Amount of {name}") for j, name in enumerate(amounts.substances)
    ]  # fmt: skip
    if run.data.image_shape is not None:
        return [*names, *((f"map-{i}", f"Map of {one}") for i, one in enumerate(run.labels)), spectra]
    return [*names, ("weights", "Amounts in every measurement"), ("shares", "Composition"), spectra]


def figure(request: Request) -> Response:
    """Return a figure of the report."""
    run, name = run_at(_run(request)), request.path_params["name"]
    kind, _, number = name.partition("-")
    k = int(number) if number.isdecimal() else 0
    if name not in [one for one, _ in _figure_names(run)]:
        raise ReadError("there is no such figure.")
    drawn: Figure
    if kind == "amounts":
        assert run.answers.amounts is not None
        drawn = list(amounts_of(run.answers.amounts))[k]
    elif kind == "map":
        drawn = mixing_figures.image(run.separation.answer[0][:, k], run.data)
    else:
        drawn = {"sources": figures.sources, "shares": mixing_figures.shares,
                 "weights": mixing_figures.weights}[kind](run)  # fmt: skip
    found = {"places": mixing_figures.places(run).tolist(), "image": run.data.image_shape}
    step = int(np.ceil(np.sqrt(len(run.separation.A) / mixing_figures.MAX_PIXELS)))
    text = json.dumps(found | {"step": step})
    return Response(f'{text[:-1]}, "figure": {drawn.to_json()}}}', media_type="application/json")


def fit(request: Request) -> Response:
    """Return the figure of one measurement with its fit and residual."""
    folder = _run(request)
    run = run_at(folder)
    reading = request.app.state.readers.measurements(folder.folder)
    if reading.error is not None:
        raise ReadError("{}", reading.error)
    if reading.facts is None:
        return JSONResponse({"seconds": round(reading.seconds, 1)})
    data, rows = kept(folder.folder / ROWS)
    if len(run.techniques) > 1 or (reading.facts["measurements"], data.Y.shape[1]) != run.shape:
        raise ReadError("single fits are not drawn for these data: the report has some.")
    wanted = request.query_params.get("row", "0")
    k = int(np.abs(rows - (int(wanted) if wanted.isdecimal() else 0)).argmin())
    drawn = figures.fit_of(run, int(rows[k]), np.asarray(data.Y[k], dtype=float))
    text = f'{{"row": {int(rows[k])}, "figure": {drawn.to_json()}}}'
    return Response(text, media_type="application/json")


def report(request: Request) -> Response:
    """Return the report as the command wrote it, in a sandbox."""
    headers = {"Content-Security-Policy": POLICY_OF_REPORTS}
    path = _run(request).result / result_folder.REPORT
    if not path.is_file():
        raise ReadError("this run has no report.")
    return FileResponse(path, media_type="text/html", headers=headers)


def file(request: Request) -> Response:
    """Return a file of the result to keep."""
    name, folder = request.path_params["name"], _run(request)
    path = folder.result / name
    if name not in result_folder.FILES or not path.is_file():
        raise ReadError("there is no such file in the result.")
    return FileResponse(path, media_type="application/octet-stream", filename=name)


def _next_change(run: Run) -> dict[str, Any]:
    """Return the settings that the verdict asks for, if it can be a button."""
    change = run.record.get("next_change")
    known = Settings.__dataclass_fields__
    return change if isinstance(change, dict) and set(change) <= set(known) else {}


async def rename(request: Request) -> Response:
    """Keep the names that a person gave to the sources."""
    session, folder, given = session_of(request), _run(request), await request.form()
    r = len(run_at(folder).separation.S)
    names = {i: str(given.get(f"name-{i}", "")).strip() for i in range(1, r + 1)}
    await run_in_threadpool(request.app.state.runner.rename, folder, names)
    return RedirectResponse(f"/s/{session.name}/runs/{folder.number}#look", 303)


async def take_next_step(request: Request) -> Response:
    """Change the settings of this run as its verdict says, and run again."""
    session, folder = session_of(request), _run(request)

    def again() -> None:
        change = _next_change(run_at(folder))
        if not change:
            raise ReadError("there is no next step that can be done by itself.")
        session.change(folder.settings.changed(**change))
        request.app.state.runner.start(session)

    await run_in_threadpool(again)
    return RedirectResponse(f"/s/{session.name}#runs", 303)


def compare(request: Request) -> Response:
    """Show two results side by side."""
    session = session_of(request)
    one, other = (run_of(session, request.query_params.get(key, "")) for key in ("one", "other"))
    pairs = comparison.pairs(run_at(one), run_at(other))
    settings = [a.settings for a in (one, other)]
    differ = [
        (in_words(f"--{name.replace('_', '-')}"), *(str(getattr(a, name)) for a in settings))
        for name in vars(settings[0])
        if getattr(settings[0], name) != getattr(settings[1], name)
    ]
    residuals = [comparison.residual(run_at(a)) for a in (one, other)]
    verdicts = [run_at(a).verdict.colour for a in (one, other)]
    return page(
        "compare", session=session, one=one, other=other, pairs=pairs, differ=differ,
        residuals=residuals, verdicts=verdicts,
    )  # fmt: skip


def compare_figure(request: Request) -> Response:
    """Return the paired sources of two results above each other."""
    session = session_of(request)
    one, other = (run_of(session, request.query_params.get(key, "")) for key in ("one", "other"))
    drawn = comparison.figure(run_at(one), run_at(other))
    return Response(drawn.to_json(), media_type="application/json")


RESULTS = [
    Route("/s/{session}/compare", compare),
    Route("/s/{session}/compare/figure", compare_figure),
    Route("/s/{session}/runs/{run}", show),
    Route("/s/{session}/runs/{run}/report", report),
    Route("/s/{session}/runs/{run}/fit", fit),
    Route("/s/{session}/runs/{run}/names", rename, methods=["POST"]),
    Route("/s/{session}/runs/{run}/next", take_next_step, methods=["POST"]),
    Route("/s/{session}/runs/{run}/figure/{name}", figure),
    Route("/s/{session}/runs/{run}/files/{name}", file),
]
