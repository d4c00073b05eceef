"""Green only where nothing is wrong; otherwise the reason, and a next step that is better."""

import warnings

import numpy as np
import pytest

import ngmca
from ngmca.answers.how_sure import diagnose, next_step

MIXTURE = ngmca.simulate.spectra(m=30, n=300, r=3, snr=30, seed=0)


def judged(Y, r=3, **options):
    with warnings.catch_warnings(action="ignore"):
        return ngmca.judge(Y, ngmca.separate(Y, r, n_init=2, **options))


def kinds(verdict):
    return [one.kind for one in verdict.findings]


def with_background(size):
    rng, t = np.random.default_rng(1), np.linspace(0, 1, 300)
    curves = sum(rng.random((30, 1)) * np.exp(-(((t - c) / 0.35) ** 2)) for c in (0.1, 0.6, 0.9))
    return MIXTURE.Y + size * np.std(MIXTURE.Y) / np.std(curves) * curves


@pytest.mark.parametrize("kind", ["spectra", "bands", "sparse"])
def test_a_clean_mixture_is_green(kind):
    Y = getattr(ngmca.simulate, kind)(m=40, n=300, r=3, snr=25, seed=7).Y
    found = judged(Y)
    assert found.colour == "green", found.text
    assert found.next_step is None
    assert "the residual looks like noise" in found.text


def test_a_background_is_named_and_the_next_step_helps():
    Y = with_background(1.0)
    found = judged(Y, constraints=())
    assert (found.colour, kinds(found)[0]) == ("red", "baseline")
    assert found.next_step.startswith("Baseline('splines'), which")
    plain, better = (ngmca.separate(Y, 3, n_init=1, **known) for known in ({"constraints": ()}, {}))
    assert better.background.found == "splines"
    before, after = (ngmca.evaluate(MIXTURE.S, one.S).mean_sdr for one in (plain, better))
    assert after > before + 5
    assert ngmca.judge(Y, better).colour == "green"


@pytest.mark.parametrize(("r", "reason"), [(2, "structure"), (6, "many")])
def test_a_wrong_number_of_sources(r, reason):
    found = judged(MIXTURE.Y, r)
    assert found.colour != "green"
    assert reason in kinds(found)
    assert found.next_step.startswith("r=3, which fits 3 sources. Tried:")


def test_correlated_noise_is_known_and_no_sign_of_more_sources():
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((30, 320))
    noise = np.array([np.convolve(row, np.ones(11) / 11, "same")[10:-10] for row in noise])
    found = judged(MIXTURE.A @ MIXTURE.S + 0.1 * np.std(MIXTURE.Y) / noise.std() * noise)
    assert kinds(found) == ["correlated"]
    assert found.colour == "amber"


@pytest.mark.parametrize(
    ("Y", "reason", "step"),
    [
        (np.vstack([np.linspace(400, 700, 300), MIXTURE.Y]), "axis", "Leave out measurement 1, which"),
        (
            np.column_stack([MIXTURE.Y.max() * np.arange(3, 33), MIXTURE.Y]),
            "column",
            "Leave out the first",
        ),
        (MIXTURE.Y.T.copy(), "transposed", "transpose=True"),
    ],
    ids=["axis", "column", "transposed"],
)
def test_numbers_of_another_kind_are_named_first(Y, reason, step):
    found = judged(Y)
    assert found.colour != "green"
    assert kinds(found)[0] == reason
    assert found.next_step.startswith(step)


def test_copies_are_named():
    found = judged(np.vstack([MIXTURE.Y, MIXTURE.Y[:3]]))
    assert found.colour == "amber"
    assert "copied" in kinds(found)


def test_structure_does_not_depend_on_units_or_order():
    separation = ngmca.separate(MIXTURE.Y, 2, n_init=1)
    first = diagnose(MIXTURE.Y, separation)
    scaled = diagnose(1e6 * MIXTURE.Y, ngmca.separate(1e6 * MIXTURE.Y, 2, n_init=1))
    assert scaled.structure == pytest.approx(first.structure, rel=0.02)
    assert scaled.left_over == pytest.approx(first.left_over, rel=0.02)


def test_moving_lines_are_named():
    rng, at = np.random.default_rng(1), np.arange(300)
    x = ngmca.simulate.bands(m=30, n=300, r=3, snr=40, seed=1)
    moved = [
        a @ [np.interp(at + move, at, s) for s in x.S]
        for a, move in zip(x.A, rng.normal(0, 1.5, 30), strict=True)
    ]
    assert kinds(judged(np.array(moved) + x.Y - x.A @ x.S))[0] in ("shift", "structure")


def test_a_step_that_does_not_help_is_not_named(monkeypatch):
    separation = ngmca.separate(MIXTURE.Y, 2, n_init=1)
    numbers = diagnose(MIXTURE.Y, separation)
    monkeypatch.setattr(next_step, "_tried", lambda *_: (numbers, (0, 9, 9.0)))
    assert ngmca.judge(MIXTURE.Y, separation).next_step is None
    monkeypatch.setattr(next_step, "_tried", lambda *_: (numbers, (0, 0, 1.0)))
    assert ngmca.judge(MIXTURE.Y, separation).next_step is not None
