"""Sources out of a saved result, a simulation, or a table."""

from dataclasses import replace
from pathlib import Path

from ngmca.io import Dataset, read
from ngmca.saving import result_folder, results
from ngmca.saving.result_file import is_result


def sources_in(path: Path) -> Dataset:
    """Return sources, as Y, with their axis: from a result, a file of `ngmca simulate`, or a table."""
    unfinished = result_folder.unfinished(result_folder.absolute(path))
    complete = is_result(path) if path.is_file() else (path / result_folder.RESULT).is_file()
    if complete or unfinished.exists():
        separation, data = results.load(path, with_data=True)
        return replace(data, Y=separation.S, row_axis=None, row_label="")
    if path.suffix == ".npz" and path.is_file():
        return read(path, dataset="S", transpose=False)
    return read(path)
