"""Draw docs/pictures/orange.png: the widget of Orange, the sources and the shares of tissue spectra.

It needs ``pip install 'ngmca[orange]'`` and no screen: ``python examples/orange_picture.py [FILE]``.
"""

import os
import sys
import time
from typing import Any

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from AnyQt.QtGui import QPainter, QPixmap
from AnyQt.QtWidgets import QApplication, QWidget
from Orange.data import Table
from Orange.widgets.visualize.owviolinplot import OWViolinPlot
from orangecontrib.spectroscopy.widgets.owspectra import OWSpectra
from orangewidget.tests.base import DummySignalManager

from ngmca.tools.orange.owunmix import OWUnmix


def made(kind: Any, signals: DummySignalManager, **settings: int) -> Any:
    widget = kind.__new__(kind, signal_manager=signals, stored_settings=settings)
    widget.__init__()
    return widget


def shown(widget: QWidget, width: int, height: int) -> QPixmap:
    widget.resize(width, height)
    widget.show()
    until = time.monotonic() + 3
    while time.monotonic() < until:
        QApplication.processEvents()
    return widget.grab()


def main() -> None:
    app = QApplication(sys.argv[:1])
    signals = DummySignalManager()
    unmix = made(OWUnmix, signals, n_components=4, amounts_as=1)
    unmix.set_data(Table("collagen")[::4])
    while unmix.found is None:
        app.processEvents()
    sources = signals.get_output(unmix, "Sources")
    amounts = signals.get_output(unmix, "Amounts")
    spectra, violin = made(OWSpectra, signals), made(OWViolinPlot, signals)
    spectra.set_data(sources)
    spectra.handleNewSignals()
    violin.set_data(amounts)
    parts = [shown(unmix, 300, 560), shown(spectra, 620, 560), shown(violin, 620, 560)]
    whole = QPixmap(sum(one.width() for one in parts) + 20, max(one.height() for one in parts))
    whole.fill()
    painter, x = QPainter(whole), 0
    for one in parts:
        painter.drawPixmap(x, 0, one)
        x += one.width() + 10
    painter.end()
    whole.save(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures/orange.png")


if __name__ == "__main__":
    main()
