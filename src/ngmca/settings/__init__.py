"""What was asked of a run: its settings, as the command line, the page and run.toml give them."""

from ngmca.settings.run_file import from_file, to_toml
from ngmca.settings.settings import Settings

__all__ = ["Settings", "from_file", "to_toml"]
