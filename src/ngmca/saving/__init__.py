"""Where results are kept: files that are whole or not there, folders of runs, checkpoints."""

from ngmca.saving.results import load, save

__all__ = ["load", "save"]
