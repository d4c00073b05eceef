"""Checkpoints of the command line: one in the folder of a run."""

from pathlib import Path

from ngmca.saving.result_folder import CHECKPOINT
from ngmca.task.checkpoints import COLUMNS, Checkpoint, read, write

__all__ = ["COLUMNS", "Checkpoint", "load", "save"]


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a run into its folder."""
    write(folder / CHECKPOINT, checkpoint)


def load(folder: Path) -> Checkpoint:
    """The checkpoint in a folder, empty if there is none; resuming from it loses nothing."""
    path = folder / CHECKPOINT
    return read(path) if path.is_file() else Checkpoint()
