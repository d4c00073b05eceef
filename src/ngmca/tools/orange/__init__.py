"""The widget "Unmix spectra" of Orange: entry points name this package.

It imports nothing of Orange itself, because Orange looks through it without loading the widget.
"""

from pathlib import Path

NAME = "ngmca"
ICON = "icons/unmix.svg"
BACKGROUND = "light-blue"
WIDGET_HELP_PATH = ((str(Path(__file__).parent / "help" / "index.html"), None),)
