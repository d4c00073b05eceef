"""One table of defaults, and options that a method would not heed."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from ngmca.task.known import Known
from task_options import records

import ngmca
from ngmca.algorithms import DEFAULTS

Y = np.random.default_rng(0).random((12, 30))


@pytest.mark.parametrize("call", [ngmca.separate, ngmca.iterate, ngmca.NGMCA])
def test_defaults_are_the_same_everywhere(call):
    parameters = inspect.signature(call).parameters
    own = ("known", "warm")  # not given as such
    told = [*fields(Known), *(field for field in fields(DEFAULTS) if field.name not in own)]
    for field in told:
        name = {"n_iter": "max_iter"}.get(field.name, field.name) if call is ngmca.NGMCA else field.name
        assert parameters[name].default == field.default


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("naive", {"tol": 1e-3}),
        ("naive", {"solver": "fista"}),
        ("naive", {"bounded": False}),
        ("naive", {"max_sub_iter": 10}),
        ("anls", {"tau": 2.0}),
        ("anls", {"refinement": 0.5}),
        ("anls", {"bounded": False}),
        ("anls", {"max_sub_iter": 10}),
        ("hard", {"bounded": False}),
        ("soft", {"max_sub_iter": 10}),
        ("hals", {"threads": 2}),
        ("hals", {"tau": 2.0}),
        ("hals", {"solver": "fista"}),
    ],
)
def test_an_option_that_would_not_be_heeded_is_refused_by_name(method, option):
    (name,) = option
    with pytest.raises(ValueError, match=f"{name} has no meaning for method='{method}'"):
        ngmca.separate(Y, 2, **records(method=method, **option))


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("soft", {"solver": "fista", "max_sub_iter": 2}),
        ("anls", {"solver": "fista", "max_sub_iter": 2}),
        ("hard", {"max_sub_iter": 2}),
        ("naive", {"refinement": 0.9}),
        ("soft", {"bounded": False}),
        ("anls", {"tol": 0.5}),
    ],
)
def test_an_option_that_is_taken_changes_the_answer(method, option):
    plain = ngmca.separate(Y, 2, **records(method=method, n_iter=30))
    if "max_sub_iter" in option and method != "hard":
        plain = ngmca.separate(Y, 2, **records(method=method, n_iter=30, solver="fista"))
    changed = ngmca.separate(Y, 2, **records(method=method, n_iter=30, **option))
    assert changed.n_iter != plain.n_iter or not np.array_equal(changed.S, plain.S)


def test_every_step_carries_its_certificate():
    data = ngmca.simulate.sparse(60, 100, 5, snr=15, seed=0)
    states = list(ngmca.iterate(data.Y, ngmca.Task(5, method=ngmca.Soft(n_iter=60))))
    assert max(s.violation for s in states) < 1e-12
    falls, stays = states[1:47], states[50:]
    assert max(s.mixing_violation for s in falls) < 1e-12  # plain A-steps are exact
    assert max(s.mixing_violation for s in stays) < 1e-5  # bounded ones to their tolerance
    found = ngmca.separate(data.Y, 5, method=ngmca.Soft(n_iter=60), n_init=1)
    np.testing.assert_array_equal(found.history.mixing_violation, [s.mixing_violation for s in states])
