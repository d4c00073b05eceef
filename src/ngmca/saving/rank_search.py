"""A search for the number of sources that a command keeps on its way, to go on with it later."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import write_atomically
from ngmca.answers.how_many.choose_rank import Search
from ngmca.answers.how_many.cross_validation import Factors
from ngmca.engines import Counts


@dataclass(frozen=True)
class Unfinished:
    """A search on its way in a file beside what will be written, whole after every step."""

    path: Path
    belongs_to: str  # data and options
    notify: Callable[[str], None]  # prints why a file cannot be used

    def last(self) -> Search | None:
        """What was kept of the same search; what is damaged, or of another, is as good as nothing."""
        if not self.path.is_file():
            return None
        try:
            with self.path.open("rb") as file, np.load(file) as stored:
                values = dict(stored)
            if str(values["belongs_to"]) == self.belongs_to:
                folds = range(len(values["errors"]))
                factors = tuple(Factors(values[f"A{i}"], values[f"S{i}"]) for i in folds)
                return Search(values["errors"], values["stability"], factors)
        except Exception as error:  # a damaged file makes zip and NumPy raise what comes
            self.notify(f"{self.path} is damaged ({type(error).__name__}): the search starts again.")
            return None
        self.notify(f"{self.path} belongs to other data or options: the search starts again.")
        return None

    def keep(self, search: Search) -> None:
        """Write it in place of the last one."""
        values: dict[str, Any] = {"belongs_to": self.belongs_to}
        values |= {"errors": search.errors, "stability": search.stability}
        for i, factors in enumerate(search.factors):
            values |= {f"A{i}": factors.A, f"S{i}": factors.S}
        write_atomically(self.path, lambda file: np.savez(file, **values))


def fingerprint(Y: NDArray, options: dict[str, Any]) -> str:
    """What a search depends on: the data, the options, the version of ngmca."""
    digest = hashlib.sha256(repr((metadata.version("ngmca"), Y.shape, str(Y.dtype))).encode())
    digest.update(np.ascontiguousarray(Y).tobytes())
    if isinstance(Y, np.ma.MaskedArray):
        digest.update(np.ma.getmaskarray(Y).tobytes())
    noise = options["noise"]
    plain = noise is None or isinstance(noise, str | Counts | float)
    digest.update(repr(noise).encode() if plain else np.asarray(noise, dtype=float).tobytes())
    digest.update(repr((options["folds"], options["entries"], options["seed"])).encode())
    return digest.hexdigest()
