"""Sentences about amounts."""

import numpy as np

from ngmca.answers.how_much.amounts import Amounts, with_unit
from ngmca.answers.wording import listed, percent


def about_unseen(found: Amounts) -> list[str]:
    """Return warnings about amounts of which the data say nothing."""
    sentences = []
    for name, column in zip(found.substances, np.isnan(found.values).T, strict=True):
        if column.any():
            which = listed([found.measurements[i] for i in np.flatnonzero(column)])
            sentences.append(
                f"{name}: {column.sum()} of {len(column)} measurements have no amount, because the "
                "observed channels do not show this substance or do not separate it from others: "
                f"{which}."
            )
    return sentences


def about_limits(found: Amounts) -> list[str]:
    """Return sentences about limits of detection, and how many amounts are below them."""
    sentences = []
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        if np.isfinite(found.detection[j]):
            count = int(found.below[:, j].sum())
            less = (
                f"; {count} of {len(found.below)} measurements {_verb(count)} below it" if count else ""
            )
            sentences.append(
                f"The limit of detection of {name} is {with_unit(found.detection[j], unit)}{less}."
            )
    return sentences


def about_range(found: Amounts) -> list[str]:
    """Return warnings about amounts above the highest standard."""
    sentences = []
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        which = np.flatnonzero(found.outside[:, j])
        if which.size:
            top = with_unit(float(np.nanmax(found.known[:, j])), unit)
            sentences.append(
                f"{which.size} of {len(found.values)} measurements {_verb(which.size)} above all "
                f"standards of {name} ({top}): {listed([found.measurements[i] for i in which])}. The "
                "calibration line was not checked there."
            )
    return sentences


def about_errors(found: Amounts) -> list[str]:
    """Return sentences about how well the standards predict each other."""
    sentences = []
    for j, (name, unit) in enumerate(zip(found.substances, found.units, strict=True)):
        error, part = float(found.leave_one_out[j]), float(found.leave_one_out_relative[j])
        count = int(np.isfinite(found.known[:, j]).sum())
        sentences.append(
            f"{name}: if each of the {count} standards is predicted by the others, the error is "
            f"{with_unit(error, unit)}, {percent(part)} of their mean."
        )
    return sentences


def _verb(count: int) -> str:
    return "is" if count == 1 else "are"
