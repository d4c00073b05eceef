"""A process that runs one case after another, with limited memory."""

import gc
import os
import resource
import shutil
import sys
import tempfile
import traceback
import warnings
import zlib
from pathlib import Path

MEMORY = 4 * 2**30


def rng_of(kind, seed, number):
    """Return the random generator of a case, always the same."""
    import numpy as np

    return np.random.default_rng([seed, zlib.crc32(kind.encode()), number])


def kinds():
    """Return for every kind its preparation and the function of a case."""
    sys.path.append(str(Path(__file__).parents[1] / "tests"))  # for task_options
    import arrays
    import commands
    import constraints
    import layouts
    import problems
    import readers
    import saved

    return {
        "readers": (readers.prepare, readers.case),
        "layouts": (layouts.prepare, layouts.case),
        "arrays": (arrays.prepare, arrays.case),
        "constraints": (constraints.prepare, constraints.case),
        "nnqp": (problems.prepare, problems.case),
        "results": (saved.prepare_results, saved.results_case),
        "checkpoints": (saved.prepare_checkpoints, saved.checkpoints_case),
        "runs": (commands.prepare, commands.runs_case),
        "commands": (commands.prepare, commands.commands_case),
    }


def serve(pipe, folder, seed, chosen):
    """Run the cases (kind, number) that the pipe sends; answer with an outcome and a text."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(folder)
    printed = os.open("stderr.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(printed, 2)
    try:
        known = _prepared(chosen)
    except Exception:
        pipe.send(("died", traceback.format_exc()))
        return
    pipe.send(("ready", ""))
    gc.freeze()  # makes garbage collection fast
    while (task := pipe.recv()) is not None:
        kind, number = task
        os.ftruncate(printed, 0)
        outcome, text = _done(known[kind], rng_of(kind, seed, number), Path("case"))
        sys.stderr.flush()
        noise = Path("stderr.txt").read_text(errors="replace").strip()
        if noise and outcome != "failure":
            outcome, text = "failure", f"printed on stderr: {noise[-2000:]}"
        pipe.send((outcome, text))


def _prepared(chosen):
    """Prepare the chosen kinds, and return their functions."""
    known = kinds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in chosen:
            known[kind][0]()
    return {kind: known[kind][1] for kind in chosen}


def _done(case, rng, folder):
    """Run one case in a new folder, and return its outcome and text."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "input").mkdir(parents=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome, text = case(rng, folder / "input"), ""
        except Exception as error:
            expected = type(error).__name__ == "Failure"
            text = (
                str(error) if expected else f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
            )
            outcome = "failure"
        gc.collect()  # warnings about open files come now, not in a later case
    unexpected = [w for w in caught if w.category is not UserWarning]
    if unexpected and outcome != "failure":
        first, outcome = unexpected[0], "failure"
        text = f"{first.category.__name__}: {first.message} ({first.filename}:{first.lineno})"
    return outcome, text


def new_folder():
    """Return a new folder for a worker."""
    return Path(tempfile.mkdtemp(prefix="ngmca-fuzz-"))
