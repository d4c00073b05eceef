"""Green only where nothing is wrong; otherwise the reason, and a next step that is better."""

import warnings

import numpy as np
import pytest

import ngmca
from ngmca._support.messages import rendered
from ngmca.answers.how_sure import diagnose, next_step
from ngmca.answers.run import Run
from ngmca.io import Dataset
from ngmca.settings.option_names import as_flag

MIXTURE = ngmca.simulate.spectra(m=30, n=300, r=3, snr=30, seed=0)


def judged(Y, r=3, **options):
    with warnings.catch_warnings(action="ignore"):
        return ngmca.judge(Y, ngmca.separate(Y, r, n_init=2, **options))


def colour_and_kinds(Y, r=3):
    """Without a search for the next step, which takes longer."""
    with warnings.catch_warnings(action="ignore"):
        separation = ngmca.separate(Y, r, n_init=1)
    found = Run(separation, diagnose(Y, separation), Dataset(Y)).verdict
    return found.colour, kinds(found)


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


@pytest.mark.parametrize("rows", [[MIXTURE.Y, MIXTURE.Y[:3]], [MIXTURE.Y[:6]] * 4])
def test_copies_are_named(rows):
    colour, found = colour_and_kinds(np.vstack(rows))
    assert colour == "amber"
    assert "copied" in found


def test_leaving_copies_out_is_tried():
    found = judged(np.vstack([MIXTURE.Y, MIXTURE.Y[:3]]))
    assert found.next_step.startswith("Leave out measurements 31, 32 and 33, which are copies. Tried: ")


def test_the_next_step_names_measurements_as_warnings_do():
    Y = np.vstack([MIXTURE.Y, MIXTURE.Y[:2]])
    names = tuple(str(i) for i in range(len(Y)))  # as an index that begins at 0
    data = ngmca.io.Dataset(Y, np.arange(Y.shape[1], dtype=float), row_names=names)
    found = judged(data)
    assert "Measurements 30 and 31: every entry" in str(found)
    assert found.next_step.startswith("Leave out measurements 30 and 31, which are copies. Tried: ")


def test_shifts_that_look_like_noise_in_the_lines_are_tried_too():
    """Shifts nearly as large as the lines are wide leave a residual like that of counts."""
    rng, axis = np.random.default_rng(0), np.arange(800.0)
    moves, A = rng.normal(0, 3, 40), rng.uniform(0.1, 1, (40, 3))
    lines = [
        [(120, 100), (300, 60), (560, 80)],
        [(200, 90), (310, 70), (650, 50)],
        [(90, 60), (420, 100), (700, 40)],
    ]
    Y = rng.normal(0, 0.5, (40, 800))
    for row, weights, move in zip(Y, A, moves, strict=True):
        for weight, source in zip(weights, lines, strict=True):
            for place, height in source:
                row += weight * height * np.exp(-(((axis - place - move) / 4) ** 2) / 2)
    found = judged(Y)
    assert kinds(found) == ["growing"]
    assert "lines may move between measurements: try ngmca.align" in str(found)
    assert found.next_step.startswith("ngmca.align, which moves measurements back")


def test_counts_are_green_once_their_noise_is_that_of_counts(tmp_path):
    clean = MIXTURE.A @ MIXTURE.S
    Y = np.random.default_rng(0).poisson(clean * 20 / clean.mean()).astype(float)
    found = judged(Y)
    assert kinds(found) == ["growing"]
    assert found.next_step.startswith("noise='poisson', which")
    counted = ngmca.separate(Y, 3, n_init=2, noise="poisson")
    assert counted.noise_model == "counts"
    assert ngmca.judge(Y, counted).colour == "green"
    again = ngmca.load(ngmca.save(tmp_path / "a.nc", counted, Y))
    assert ngmca.judge(Y, again).colour == "green"
    assert ngmca.separate(Y, 3, n_init=1, noise=np.sqrt(Y.mean(axis=0) + 1)).noise_model == "entries"


@pytest.mark.parametrize(("m", "colour"), [(1, "red"), (2, "red"), (3, "amber")])
def test_more_sources_than_measurements_cannot_be_used(m, colour):
    with warnings.catch_warnings(action="ignore"):
        separation = ngmca.separate(MIXTURE.Y[:m], 3, n_init=1)
    found = ngmca.judge(MIXTURE.Y[:m], separation)
    assert (found.colour, "few" in kinds(found)) == (colour, True)


def test_masked_entries_are_not_judged():
    hidden = np.zeros(MIXTURE.Y.shape, dtype=bool)
    hidden[::3, 150] = True
    Y = np.ma.masked_array(np.where(hidden, 20 * MIXTURE.Y.max(), MIXTURE.Y), hidden)
    assert judged(Y).colour == "green"


def test_several_data_sets_are_judged_together():
    assert judged([MIXTURE.Y[:12], MIXTURE.Y[12:]]).colour == "green"


def test_other_data_than_those_of_the_separation_are_refused():
    separation = ngmca.separate(MIXTURE.Y, 3, n_init=1)
    with pytest.raises(ValueError, match="30 x 300 were separated"):
        ngmca.judge(MIXTURE.Y[:, :200], separation)
    with pytest.raises(ValueError, match="transposed"):
        ngmca.judge(MIXTURE.Y.T, separation)


def test_a_spike_that_has_most_of_the_energy_forbids_the_result():
    Y = MIXTURE.Y.copy()
    Y[2, 50] = 1e9
    assert colour_and_kinds(Y) == ("red", ["spike"])
    Y[2, 50] = 3 * MIXTURE.Y.max()
    assert colour_and_kinds(Y)[0] == "amber"


def test_data_of_axes_only_have_no_next_step():
    found = judged(np.outer(np.arange(1, 11), np.arange(40.0)), 1)
    assert (found.colour, found.next_step) == ("red", None)


@pytest.mark.parametrize("r", [3, 4])
def test_rounding_of_data_without_noise_is_no_structure(r):
    colour, found = colour_and_kinds(MIXTURE.A @ MIXTURE.S, r)
    assert not {"structure", "baseline", "correlated", "shift"} & set(found)
    assert colour == ("green" if r == 3 else "amber")


def test_a_few_channels_with_most_of_the_noise_are_no_green_result():
    noise = np.where(np.arange(300) % 30, 1, 300) * np.random.default_rng(0).normal(size=(30, 300))
    assert "uneven" in colour_and_kinds(MIXTURE.A @ MIXTURE.S + 0.01 * noise)[1]


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
    here = next_step._score(next_step.findings(separation, numbers), numbers)
    monkeypatch.setattr(next_step, "_tried", lambda *_: (numbers, (*here[:2], 0.95 * here[2])))
    assert ngmca.judge(MIXTURE.Y, separation).next_step is None


def test_the_next_step_is_a_line_that_runs():
    Y = with_background(1.0)
    found = judged(Y, constraints=())
    assert found.command == "ngmca.separate(Y, 3, constraints=[ngmca.Baseline('splines')])"
    better = eval(found.command, {"ngmca": ngmca, "Y": Y})
    assert better.background is not None


def test_a_mask_leaves_entries_out():
    Y, mask = MIXTURE.Y.copy(), np.zeros(MIXTURE.Y.shape, dtype=bool)
    Y[3, 100:110], mask[3, 100:110] = 50 * Y.max(), True
    with warnings.catch_warnings(action="ignore"):
        separation = ngmca.separate(Y, 3, n_init=1, mask=mask)
    assert ngmca.judge(Y, separation).colour != "green"
    assert ngmca.judge(Y, separation, mask=mask).colour == "green"


def test_factors_of_a_rival_are_refused_in_words():
    factors = ngmca.rivals.hals(MIXTURE.Y, 3, n_iter=2, seed=0)
    with pytest.raises(TypeError, match=r"needs the Separation of ngmca\.separate, got Factors"):
        ngmca.judge(MIXTURE.Y, factors)


def test_negative_data_have_nothing_to_unmix():
    choice = ngmca.choose_rank(-MIXTURE.Y, seed=0)
    assert choice.rank == 0
    assert "change the sign of the data" in choice.advice
    found = judged(-MIXTURE.Y, 1)
    assert found.colour == "red"
    assert "Nothing is left to unmix" in found.findings[0].text


def test_a_negative_end_is_left_out_by_a_range():
    Y = MIXTURE.Y.copy()
    Y[:, :20] -= 0.6 * Y.max()
    data = Dataset(Y, np.linspace(1000, 1299, 300))
    with warnings.catch_warnings(action="ignore"):
        separation = ngmca.separate(Y, 3, n_init=1, constraints=())
    (text,) = [
        one.text
        for one in Run(separation, diagnose(Y, separation), data).findings
        if one.kind == "negative"
    ]
    assert "only at the ends" in text
    assert "leave these out (Dataset.crop(1020, 1299))." in text
    assert "leave these out (--range 1020:1299)." in rendered(text, as_flag)
    Y[:, 150:160] -= 0.6 * Y.max()  # the middle cannot be cut off
    with warnings.catch_warnings(action="ignore"):
        separation = ngmca.separate(Y, 3, n_init=1, constraints=())
    found = Run(separation, diagnose(Y, separation), Dataset(Y)).findings
    assert not any("only at the ends" in one.text for one in found)
