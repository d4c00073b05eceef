"""The widget "Unmix Spectra"."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from Orange.data import Table
from Orange.preprocess.preprocess import Preprocess
from Orange.widgets import gui
from Orange.widgets.settings import Setting
from Orange.widgets.utils.concurrent import ConcurrentWidgetMixin, TaskState
from Orange.widgets.widget import Input, Msg, Output, OWWidget

from ngmca._support.messages import ArgumentError
from ngmca.answers.how_sure import diagnose
from ngmca.answers.run import Answers, Run
from ngmca.constraints import Baseline
from ngmca.estimator import NGMCA
from ngmca.result import State
from ngmca.task import driver
from ngmca.tools.orange import orange_tables as tables

BACKGROUNDS = {"Automatic": [Baseline("auto")], "None": [], "Smooth (splines)": [Baseline("splines")]}
NOISES = {"Estimated": None, "Counts": "poisson"}
AMOUNTS = ("Weights", "Shares of the signal (%)")


class Watching(driver.Watcher):
    """Shows progress in the widget, and stops when the widget asks for it."""

    def __init__(self, state: TaskState) -> None:
        self._state, self._done, self._total = state, 0, 1

    def begins(self, iterations: int, starts: int) -> None:
        """Set what is 100 %."""
        self._total = max(iterations * starts, 1)

    def sees(self, state: State, start: int) -> None:
        """Count an iteration."""
        self.advances(1)

    def advances(self, iterations: int) -> None:
        """Count iterations; stop here where there are no states to look at."""
        self._done += iterations
        self._state.set_progress_value(min(99.0, 100 * self._done / self._total))
        if self.wants_stop():
            raise driver.StoppedRunError(self._done, self._total)

    def wants_stop(self) -> bool:
        """Whether the run was cancelled."""
        return bool(self._state.is_interruption_requested())


class Watched(NGMCA):
    """The estimator with the progress of a widget; the widget is not kept."""

    def residual_of_fit(self, X: NDArray, state: TaskState) -> NDArray:
        """Learn the sources of X, and return X without them and without a background."""
        self._state = state
        try:
            self.fit(X)
        finally:
            del self._state
        everywhere, nowhere = np.arange(X.shape[1]), np.zeros(0, dtype=int)
        return X - self._predicted(X, self._noise_of(len(X)), everywhere, nowhere)

    @contextmanager
    def _shown_progress(self) -> Iterator[list[driver.Watcher]]:
        yield [Watching(self._state)] if hasattr(self, "_state") else []


@dataclass(frozen=True, eq=False)
class Result:
    """What a run found: the estimator, the residual, and the verdict."""

    model: NGMCA
    rest: NDArray
    order: NDArray
    run: Run


def unmix(table: Table, options: dict[str, Any], state: TaskState) -> Result:
    """Separate the spectra of a table; this runs beside the widget."""
    state.set_status("Separating...")
    data, order = tables.spectra(table)
    model = Watched(**options)
    rest = model.residual_of_fit(data.Y, state)
    found = model.separation_
    run = Run(found, diagnose(data.Y, found), data, answers=Answers(model.rank_choice_))
    run.verdict  # noqa: B018 - computed here, not in the window
    return Result(model, rest, order, run)


class OWUnmix(OWWidget, ConcurrentWidgetMixin):
    """Sources of spectra, and their amounts."""

    name = "Unmix Spectra"
    description = "Find the spectra of pure components in mixtures, and how much of each there is."
    category = "Spectroscopy"
    icon = "icons/unmix.svg"
    priority = 1150
    keywords = "unmix, mcr, nmf, endmembers, curve resolution, source separation, components"
    want_main_area = False
    resizing_enabled = False

    class Inputs:
        """Spectra in rows."""

        data = Input("Data", Table, default=True)

    class Outputs:
        """What was found."""

        amounts = Output("Amounts", Table, default=True)
        sources = Output("Sources", Table)
        residuals = Output("Residuals", Table)
        model = Output("Model", Preprocess)

    class Error(OWWidget.Error):
        """What prevents a result."""

        no_spectra = Msg("The data have no rows or no numeric columns: spectra are needed.")
        failed = Msg("{}")

    class Warning(OWWidget.Warning):
        """What a user should know about the result."""

        no_positions = Msg("Names of columns are not numbers: they are taken as channels in this order.")
        doubtful = Msg("{}")

    class Information(OWWidget.Information):
        """What was done."""

        cancelled = Msg("The run was cancelled. Apply starts it again.")

    n_components = Setting(3)
    automatic = Setting(False)
    background = Setting(0)
    noise = Setting(0)
    robust = Setting(False)
    amounts_as = Setting(0)
    auto_apply = Setting(True)

    def __init__(self) -> None:
        OWWidget.__init__(self)
        ConcurrentWidgetMixin.__init__(self)
        self.data: Table | None = None
        self.found: Result | None = None
        box = gui.vBox(self.controlArea, "Sources")
        again = self.commit.deferred
        self.spin = gui.spin(
            box, self, "n_components", 1, 50, label="Number of sources:", callback=again
        )
        gui.checkBox(box, self, "automatic", "Choose from the data", callback=self._number_changed)
        box = gui.vBox(self.controlArea, "Data")
        for name, label, items in (
            ("background", "Background:", BACKGROUNDS),
            ("noise", "Noise:", NOISES),
        ):
            gui.comboBox(box, self, name, label=label, items=tuple(items), callback=again)
        gui.checkBox(box, self, "robust", "Ignore spikes", callback=again)
        gui.comboBox(
            self.controlArea, self, "amounts_as", box="Amounts", items=AMOUNTS, callback=self._send
        )
        self.told = gui.widgetLabel(gui.vBox(self.controlArea, "Result"), "No data.")
        self.told.setWordWrap(True)
        gui.auto_apply(self.buttonsArea, self, "auto_apply")
        self.stop = gui.button(self.buttonsArea, self, "Cancel", callback=self._stop, autoDefault=False)
        self.stop.setDisabled(True)
        self.spin.setDisabled(self.automatic)

    @Inputs.data
    def set_data(self, data: Table | None) -> None:
        """Take new data."""
        self.cancel()
        self.clear_messages()
        self.data = data
        if data is not None and (not data.domain.attributes or not len(data)):
            self.Error.no_spectra()
            self.data = None
        elif data is not None and tables.positions(data.domain) is None:
            self.Warning.no_positions()
        self.commit.now()

    def _number_changed(self) -> None:
        self.spin.setDisabled(self.automatic)
        self.commit.deferred()

    @gui.deferred
    def commit(self) -> None:
        """Separate the data."""
        for message in (self.Error.failed, self.Warning.doubtful, self.Information.cancelled):
            message.clear()
        self.found = None
        self._send()
        if self.data is None:
            return
        options = {
            "n_components": "auto" if self.automatic else self.n_components,
            "constraints": list(BACKGROUNDS.values())[self.background],
            "noise": list(NOISES.values())[self.noise],
            "robust": self.robust,
        }
        self.stop.setDisabled(False)
        self.told.setText("Separating...")
        self.start(unmix, self.data, options)

    def _stop(self) -> None:
        self.cancel()
        self.stop.setDisabled(True)
        self.told.setText("Cancelled.")
        self.Information.cancelled()

    def on_partial_result(self, _: Any) -> None:
        """There are no partial results."""

    def on_done(self, result: Result) -> None:
        """Show the verdict and send the tables."""
        self.stop.setDisabled(True)
        self.found = result
        verdict = result.run.verdict
        separation = result.run.separation
        number = result.run.answers.sentences(len(separation.S))[0][1]
        if separation.background is not None:
            number += " A smooth background was fitted."
        self.told.setText(f"{number} {verdict.colour.capitalize()}: {verdict.text}")
        if verdict.colour != "green":
            self.Warning.doubtful(verdict.text)
        self._send()

    def on_exception(self, ex: Exception) -> None:
        """Say what is wrong; errors of the program itself are Orange's."""
        self.stop.setDisabled(True)
        if isinstance(ex, driver.StoppedRunError):
            return
        if not isinstance(ex, ArgumentError | ValueError | MemoryError):
            raise ex
        self.told.setText("No result.")
        self.Error.failed(str(ex))

    def _send(self) -> None:
        """Send what was found, or nothing."""
        if self.data is None or self.found is None:
            for one in (self.Outputs.amounts, self.Outputs.sources, self.Outputs.residuals):
                one.send(None)
            self.Outputs.model.send(None)
            return
        found, table = self.found, self.data
        percent = bool(self.amounts_as)
        shared = tables.Amounts(found.model, table.domain, found.order, percent=percent)
        amounts, step = tables.amounts_of(table, shared)
        shares = found.run.separation.shares.mean(axis=0)
        self.Outputs.amounts.send(amounts)
        self.Outputs.sources.send(tables.sources_of(table, found.model, found.order, shares))
        self.Outputs.residuals.send(tables.residuals_of(table, found.rest, found.order))
        self.Outputs.model.send(step)

    def onDeleteWidget(self) -> None:
        """Stop the run when the widget is removed."""
        self.shutdown()
        super().onDeleteWidget()

    def send_report(self) -> None:
        """Describe options and verdict in Orange's report."""
        number = "chosen from the data" if self.automatic else self.n_components
        self.report_items(
            "Settings",
            [
                ("Number of sources", number),
                ("Background", list(BACKGROUNDS)[self.background]),
                ("Noise", list(NOISES)[self.noise]),
                ("Ignore spikes", "yes" if self.robust else "no"),
            ],
        )
        self.report_items("Result", [("Verdict", self.told.text())])
