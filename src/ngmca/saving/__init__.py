"""Results on disk: one file of a separation, the folder of a run, and checkpoints."""

from ngmca.saving.results import load, save

__all__ = ["load", "save"]
