"""A search for the number of sources that a command saves after every step, to resume it later."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import write_atomically
from ngmca.answers.how_many.cross_validation import Factors, Search
from ngmca.engines import Counts


@dataclass(frozen=True)
class UnfinishedSearch:
    """The file of a search that is not finished.

    Attributes
    ----------
    path : Path
        The file, written atomically after every step.
    belongs_to : str
        Fingerprint of the data and options, see `fingerprint`.
    tell : Callable[[str], None]
        Shows a note to the user.
    """

    path: Path
    belongs_to: str
    tell: Callable[[str], None]

    def last(self) -> Search | None:
        """Return the saved search, or None if there is none, it is damaged, or it is another search."""
        if not self.path.is_file():
            return None
        try:
            with self.path.open("rb") as file, np.load(file) as stored:
                values = dict(stored)
            if str(values["belongs_to"]) == self.belongs_to:
                folds = range(len(values["errors"]))
                factors = tuple(Factors(values[f"A{i}"], values[f"S{i}"]) for i in folds)
                search = Search(values["errors"], values["stability"], factors)
                self.tell(f"continues after {search.rank} sources, from {self.path}")
                return search
        except Exception as error:  # zip and NumPy raise errors of many kinds for damaged files
            self.tell(f"{self.path} is damaged ({type(error).__name__}): the search starts again.")
            return None
        self.tell(f"{self.path} belongs to other data or options: the search starts again.")
        return None

    def keep(self, search: Search) -> None:
        """Replace the saved search by a newer one."""
        values: dict[str, Any] = {"belongs_to": self.belongs_to}
        values |= {"errors": search.errors, "stability": search.stability}
        for i, factors in enumerate(search.factors):
            values |= {f"A{i}": factors.A, f"S{i}": factors.S}
        write_atomically(self.path, lambda file: np.savez(file, **values))


def fingerprint(Y: NDArray, options: dict[str, Any]) -> str:
    """Return a digest of what a search depends on: data, options, and version of ngmca."""
    digest = hashlib.sha256(repr((metadata.version("ngmca"), Y.shape, str(Y.dtype))).encode())
    digest.update(np.ascontiguousarray(Y).tobytes())
    if isinstance(Y, np.ma.MaskedArray):
        digest.update(np.ma.getmaskarray(Y).tobytes())
    noise = options["noise"]
    plain = noise is None or isinstance(noise, str | Counts | float)
    digest.update(repr(noise).encode() if plain else np.asarray(noise, dtype=float).tobytes())
    digest.update(repr((options["folds"], options["entries"], options["seed"])).encode())
    return digest.hexdigest()
