"""Spectra of a stream so far: their amounts, the sources, and a page that refreshes itself."""

from datetime import datetime
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ngmca._support.atomic_files import atomic_file, is_temporary, occupied, write_atomically
from ngmca._support.html_cards import card, curves
from ngmca.answers.wording import counted
from ngmca.io import Dataset, ReadError, write_table
from ngmca.io.combine import interpolate, rising, same_axis

AMOUNTS, SOURCES, PAGE = "amounts.csv", "sources.csv", "live.html"
SHOWN = 12  # last measurements on the page


class Live:
    """All spectra so far, and the stream that learns from them.

    Every file in the folder is complete at any time: it is written beside its place and moved there.
    """

    def __init__(
        self, out: Path, r: int | str, *, first: int, forgetting: float, refresh: float
    ) -> None:
        from ngmca.estimator import NGMCA  # scikit-learn takes a second to load

        _claim(out)
        self._out, self._refresh, self._first = out, refresh, first
        if isinstance(r, int):
            self._first = max(first, r)
        self._model = NGMCA(r, forgetting=forgetting)
        self._names: list[str] = []
        self._times: list[str] = []
        self._rows: list[NDArray] = []
        self._known: Dataset | None = None  # the first file, for its axis
        self._learnt = 0

    @property
    def page(self) -> Path:
        """The page that refreshes itself."""
        return self._out / PAGE

    @property
    def count(self) -> int:
        """Number of spectra so far."""
        return len(self._rows)

    @property
    def state(self) -> str:
        """How far it is, in words."""
        if not self._learnt:
            wanted = self._first - self.count
            return f"{counted(self.count, 'measurement')}; {wanted} more to begin."
        of = f"{len(self._model.components_)} sources"
        return f"{counted(self.count, 'measurement')}, {of}, latest {self._names[-1]}."

    def add(self, path: Path, data: Dataset) -> None:
        """Add the spectra of a file, on the axis of the first file."""
        Y = self._on_axis(data)
        if np.isnan(Y).any():
            raise ReadError("it has missing entries, which a stream does not support.")
        self._rows += list(Y)
        when = datetime.fromtimestamp(path.stat().st_mtime).isoformat(sep=" ", timespec="seconds")
        self._times += [when] * len(Y)
        several = len(Y) > 1
        self._names += [f"{path.name} {name}" if several else path.name for name in data.names]

    def _on_axis(self, data: Dataset) -> NDArray:
        if self._known is None:
            self._known = data
        there, here = self._known, data
        if there.axis is None or here.axis is None:
            if here.Y.shape[1] != there.Y.shape[1]:
                raise ReadError(f"it has {here.Y.shape[1]} channels, the first {there.Y.shape[1]}.")
            return here.Y
        if same_axis(there.axis, here.axis):
            return here.Y
        Y, positions = rising(here)
        if positions[0] > there.axis.min() or positions[-1] < there.axis.max():
            raise ReadError(
                f"its axis goes from {positions[0]:g} to {positions[-1]:g}, and does not cover that of "
                f"the first file, {there.axis.min():g} to {there.axis.max():g}."
            )
        return interpolate(there.axis, positions, Y)

    def update(self) -> bool:
        """Learn from the new spectra and write the files; return whether there were any."""
        if self.count == self._learnt or self.count < self._first:
            return False
        self._model.partial_fit(np.array(self._rows[self._learnt :]))
        self._learnt = self.count
        self._write(self._refresh)
        return True

    def end(self) -> None:
        """Write the page for the last time, so that it does not refresh itself any more."""
        if self._learnt:
            self._write(0)

    def _write(self, refresh: float) -> None:
        assert self._known is not None
        S, W = self._model.components_, self._model.transform(np.array(self._rows[: self._learnt]))
        signal = W * S.sum(axis=1)
        total = signal.sum(axis=1, keepdims=True)
        shares = 100 * np.divide(signal, total, out=np.zeros_like(signal), where=total > 0)
        names = [f"source {i + 1}" for i in range(len(S))]
        n = self._learnt
        columns = [("measurement", self._names[:n]), ("written", self._times[:n])]
        columns += [*zip(names, W.T, strict=True)]
        columns += zip([f"{name} share (%)" for name in names], shares.T, strict=True)
        axis = (self._known.axis_label, self._known.positions)
        for name, table in ((AMOUNTS, columns), (SOURCES, [axis, *zip(names, S, strict=True)])):
            with atomic_file(self._out / name) as part:
                write_table(part, table)
        write_atomically(self.page, self._drawn(S, shares, refresh))

    def _drawn(self, S: NDArray, shares: NDArray, refresh: float) -> str:
        from ngmca.report.html_page import page  # Plotly takes a second to load

        rows = [
            [str(i + 1), curves(s, first=i), curves(share, first=i), f"{share[-1]:.1f} %"]
            for i, (s, share) in enumerate(zip(S, shares.T, strict=True))
        ]
        head = ["source", "spectrum", "share over time", "latest"]
        last = list(zip(self._times, self._names, shares, strict=False))[-SHOWN:][::-1]
        table = [[when, name, *(f"{one:.1f} %" for one in share)] for when, name, share in last]
        titles = ["written", "measurement", *(f"source {i + 1}" for i in range(len(S)))]
        main = card(self.state, rows, head) + card("Latest", table, titles)
        state = "refreshes itself" if refresh else "has ended"
        header = f"<p>{escape(f'This stream {state}.')}</p>"
        return page("ngmca watch", header, f"<section>{main}</section>", refresh=refresh)


def _claim(out: Path) -> None:
    """Create the folder; raise an error if it holds files of others."""
    if out.exists() and not out.is_dir():
        raise occupied(f"{out} is not a folder")
    out.mkdir(parents=True, exist_ok=True)
    ours = {AMOUNTS, SOURCES, PAGE}
    foreign = [one.name for one in out.iterdir() if one.name not in ours and not is_temporary(one.name)]
    if foreign:
        raise occupied(
            f"{out} holds {min(foreign)}, which ngmca watch did not write; name another folder"
        )
