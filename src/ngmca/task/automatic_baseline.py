"""A task whose automatic baseline is decided by its data."""

from copy import copy

from ngmca import rules
from ngmca.constraints import (
    Baseline,
    Constraint,
    KnownMixing,
    KnownSources,
    baseline_of,
    found_baseline,
)
from ngmca.engines import Engine
from ngmca.task.methods import Soft
from ngmca.task.problem import features_of_data
from ngmca.task.task import Task


def may_be_found(task: Task, engine: Engine) -> bool:
    """Whether the task has an automatic baseline that its method and data allow to look for.

    Sources that are images have no axis, and known factors leave nothing to compare with.
    """
    asked = baseline_of(task.constraints)
    if asked is None or asked.is_decided:
        return False
    automatic = isinstance(task.method, Soft) and task.method.n_iter == "auto"
    fixed = any(isinstance(one, KnownMixing | KnownSources) for one in task.constraints)
    if not automatic or fixed or task.sample_shape is not None:
        return False
    names = task.features | features_of_data(engine)
    return all(rules.reason_against("Baseline", name) is None for name in names)


def with_found_baseline(task: Task, engine: Engine) -> Task:
    """Return the task with the baseline that the data show in place of an automatic one, or without."""
    asked = baseline_of(task.constraints)
    if asked is None or asked.is_decided:
        return task
    found = found_baseline(engine, task.r) if may_be_found(task, engine) else None
    decided = copy(task)  # which is checked already, and `may_be_found` has asked the rules
    object.__setattr__(decided, "constraints", with_baseline(task.constraints, found))
    return decided


def with_baseline(constraints: tuple[Constraint, ...], found: Baseline | None) -> tuple[Constraint, ...]:
    """Return constraints with a baseline in place of an automatic one, if they have one."""
    asked = baseline_of(constraints)
    if asked is None or asked.is_decided:
        return constraints
    others = tuple(one for one in constraints if one is not asked)
    return others if found is None else (*others, found)
