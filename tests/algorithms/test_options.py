"""Options live once, in the records; each record has only the options that its method supports."""

import inspect
from dataclasses import fields

import numpy as np
import pytest
from task_options import METHODS, OF_METHODS, records

import ngmca
from ngmca._support.messages import ArgumentError
from ngmca.algorithms import Options
from ngmca.task.methods import method_with, options_of

Y = np.random.default_rng(0).random((12, 30))


@pytest.mark.parametrize("name", METHODS)
def test_defaults_are_the_same_everywhere(name):
    """A record, its name, and the form that the algorithms use."""
    record = METHODS[name]()
    assert ngmca.Task(2, method=name).method == record
    assert method_with(name, {}) == record
    own = {field.name: field.default for field in fields(Options)}
    for field in fields(record):
        if field.name != "penalised":  # the algorithms know it as a constraint
            assert field.default == own[field.name], field.name
    assert options_of(record) == Options(method=name)


@pytest.mark.parametrize("call", [ngmca.separate, ngmca.NGMCA])
def test_calls_have_no_options_of_methods(call):
    """What a method needs is in its record; all else has the default of `Task`."""
    parameters = dict(inspect.signature(call).parameters)
    assert not {*OF_METHODS, "max_iter"} & set(parameters)
    shared = {"r", "method", "posterior", "start", "seed"}  # given, records, or named in another way
    for field in fields(ngmca.Task):
        if field.name not in shared:
            assert parameters[field.name].default == field.default, field.name
    assert parameters["method"].default == ngmca.Task(1).method.name


@pytest.mark.parametrize(
    ("method", "option"),
    [
        ("naive", {"tol": 1e-3}),
        ("naive", {"solver": "fista"}),
        ("naive", {"bounded": False}),
        ("naive", {"max_sub_iter": 10}),
        ("naive", {"penalised": "A"}),
        ("anls", {"tau": 2.0}),
        ("anls", {"refinement": 0.5}),
        ("anls", {"bounded": False}),
        ("anls", {"max_sub_iter": 10}),
        ("anls", {"penalised": "both"}),
        ("hard", {"bounded": False}),
        ("soft", {"max_sub_iter": 10}),
    ],
)
def test_a_record_has_no_options_that_its_method_ignores(method, option):
    (name,) = option
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'"):
        METHODS[method](**option)
    words = rf"method='{method}' has no option {name}: leave it out\.$"
    with pytest.raises(ArgumentError, match=words) as raised:
        method_with(method, option)
    assert raised.value.message.names == ("method", name)


@pytest.mark.parametrize("option", [{"threads": 2}, {"tau": 2.0}, {"solver": "fista"}, {"seed": 1}])
def test_a_rival_has_its_own_options_only(option):
    (name,) = option
    words = f"method='hals' has no option {name}: leave it out. It has .*n_iter"
    with pytest.raises(ArgumentError, match=words) as raised:
        ngmca.Rival("hals", **option)
    assert raised.value.message.names == ("method", name)
    with pytest.raises(ArgumentError, match=rf"method='hals' has no option {name}: leave it out\.$"):
        method_with("hals", option)


def test_a_method_is_a_name_or_a_record():
    with pytest.raises(ValueError, match=r"method='sotf' does not exist. Do you mean 'soft'"):
        ngmca.separate(Y, 2, method="sotf")
    with pytest.raises(
        TypeError, match=r"method must be a name or a record such as Soft\(tau=2\), got 3"
    ):
        ngmca.separate(Y, 2, method=3)
    with pytest.raises(ValueError, match=r"name=.* does not exist.*'hals'"):
        ngmca.Rival("soft")


@pytest.mark.parametrize(
    ("method", "option", "words"),
    [
        ("soft", {"tau": -1}, "tau must be between 0 and 1e[+]06, got -1"),
        ("soft", {"tau": 1e7}, "tau must be between 0 and 1e[+]06"),
        ("soft", {"n_iter": 0}, "n_iter must be at least 1"),
        ("hard", {"refinement": 2}, "refinement must be between 0 and 1"),
        ("soft", {"bounded": 3}, "bounded must be True or False"),
        ("anls", {"solver": "newton"}, "solver must be one of 'pivot', 'fista'"),
        ("soft", {"penalised": "all"}, "penalised must be one of 'S', 'A', 'both'"),
        ("hard", {"max_sub_iter": 0}, "max_sub_iter must be at least 1"),
    ],
)
def test_a_wrong_value_is_an_error_where_the_record_is_made(method, option, words):
    with pytest.raises(ValueError, match=words):
        METHODS[method](**option)


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
def test_every_option_changes_the_answer(method, option):
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
