"""Amounts: exact for exact weights, honest for noisy ones, refused where nothing can be told."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ngmca
from ngmca import io
from ngmca.answers.how_much import calibration
from ngmca.result import Background

M, R, N = 30, 3, 120
FACTORS = np.array([2.0, 5.0, 0.1])


@pytest.fixture(scope="module")
def blank():
    """A separation whose fields are replaced by those that a test is about."""
    return ngmca.separate(
        np.random.default_rng(0).random((4, 30)), 1, method=ngmca.Soft(n_iter=2), n_init=1
    )


@pytest.fixture
def exact(blank):
    """Weights without an error, and the concentrations that they stand for."""
    rng = np.random.default_rng(1)
    C, S = rng.random((M, R)) + 0.05, rng.random((R, N)) ** 4
    A = C / FACTORS
    size = np.linalg.norm(A, axis=0)
    return replace(blank, A=A / size, S=S * size[:, None], noise=np.full(M, 1e-9)), C


def noisy(blank, seed, *, sd=0.02, leak=0.0, size=1.0, known=5):
    """Weights with noise and leaks from source to source; concentrations; rows that are standards."""
    rng = np.random.default_rng(seed)
    C, S = rng.random((M, R)), np.eye(R, N)
    A = C @ (np.eye(R) + leak * rng.standard_normal((R, R))) + sd * rng.standard_normal((M, R))
    found = replace(blank, A=np.maximum(A, 0), S=S * size, noise=np.full(M, sd * size))
    return found, C, np.arange(known)


def table_of(C, rows, **names):
    columns = {"measurement": [i + 1 for i in rows]}
    return columns | {names.get(f"s{j}", f"s{j}"): C[rows, j] for j in range(C.shape[1])}


def test_exact_weights_become_exact_concentrations_and_name_their_sources(exact):
    separation, C = exact
    order = [2, 0, 1]
    table = {"measurement": [1, 4, 9, 20], "c (mg/L)": C[[0, 3, 8, 19], 2]}
    table |= {"a (mg/L)": C[[0, 3, 8, 19], 0], "b (%)": C[[0, 3, 8, 19], 1]}
    found = ngmca.quantify(separation, table)
    assert found.sources == (2, 0, 1)
    assert (found.substances, found.units) == (("c", "a", "b"), ("mg/L", "mg/L", "%"))
    np.testing.assert_allclose(found.values, C[:, order], rtol=1e-9)
    np.testing.assert_allclose(found.factors, C[0, order] / separation.A[0, order], rtol=1e-9)
    np.testing.assert_allclose(found.low, C[:, order], rtol=1e-3, atol=1e-6)
    assert not found.relative
    assert "c is source 3" in " ".join(found.words)
    assert found.leave_one_out.max() < 1e-9


@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("count", [3, 5])
def test_intervals_hold_the_truth_about_as_often_as_they_say(blank, leak, count):
    held, above = [], []
    for seed in range(60):
        separation, C, rows = noisy(blank, seed, leak=leak, known=count)
        names = [f"s{j}" for j in range(R)]
        found = ngmca.quantify(separation, table_of(C, rows), names=names, level=0.8)
        rest = slice(count, None)
        held.append(((found.low <= C) & (found.high >= C))[rest].mean())
        above.append((found.high < C)[rest].mean())
    assert 0.75 < np.mean(held) < 0.9
    assert 0.04 < np.mean(above) < 0.15  # missed on both sides


def test_intervals_use_student_with_few_standards_and_widen_with_the_level(blank):
    x, y, v = np.array([0.2, 0.6, 1.0]), np.array([0.22, 0.55, 1.03]), np.full(3, 1e-6)
    line = calibration.fitted(x, y, v)
    s = np.sqrt(np.sum((y - line.slope * x) ** 2) / 2)
    low, high = calibration.interval(line, np.array([0.0]), np.array([1e-6]), 0.9)
    assert high[0] * line.slope == pytest.approx(
        2.92 * s, rel=0.1
    )  # t of 2 degrees of freedom, not 1.64
    wider = calibration.interval(line, np.array([0.0]), np.array([1e-6]), 0.95)
    assert wider[1][0] > high[0]
    assert low[0] == 0
    # at the point 1 the uncertain slope adds to the scatter: sqrt(1 + 1 / sum of squares)
    ends = calibration.interval(line, np.array([line.slope]), np.array([1e-6]), 0.9)
    half = 2.92 * s * np.sqrt(1 + 1 / np.sum(x * x)) / line.slope
    assert (ends[1][0] - ends[0][0]) / 2 == pytest.approx(half, rel=0.1)


def test_loud_measurements_count_less_and_have_wider_intervals(blank):
    rng = np.random.default_rng(3)
    C = rng.random((M, 1)) + 0.5
    sd = np.where(np.arange(M) % 2, 0.1, 0.001)
    A = C + sd[:, None] * rng.standard_normal((M, 1))
    separation = replace(blank, A=A, S=np.eye(1, N), noise=sd)
    found = ngmca.quantify(separation, (range(8), C[:8]))
    width = (found.high - found.low)[:, 0]
    assert width[9::2].min() > 10 * width[8::2].max()
    assert np.abs(found.factors[0] - 1) < 0.003  # the loud half alone would be 3 % off


def test_gaps_in_the_data_widen_intervals(blank):
    rng = np.random.default_rng(4)
    C, S = rng.random((M, 1)) + 0.5, np.ones((1, N))
    A = C + 0.01 * rng.standard_normal((M, 1))
    separation = replace(blank, A=A, S=S, noise=np.full(M, 0.1))
    Y = A @ S
    Y[20, 2:] = np.nan  # two channels left
    full = ngmca.quantify(separation, (range(5), C[:5]), data=io.Dataset(A @ S))
    gaps = ngmca.quantify(separation, (range(5), C[:5]), data=io.Dataset(Y))
    np.testing.assert_allclose(gaps.high[:20], full.high[:20], rtol=1e-12)
    assert gaps.high[20, 0] - gaps.low[20, 0] > 3 * (full.high[20, 0] - full.low[20, 0])


def apart(blank, unseen):
    """Sources in channels of their own; concentrations; data without source 1 in some measurements."""
    rng = np.random.default_rng(11)
    C, S = rng.random((M, R)) + 0.2, np.kron(np.eye(R), np.ones(N // R))
    Y = C @ S + 0.01 * rng.standard_normal((M, N))
    Y[unseen, : N // R] = np.nan
    A = C + 0.002 * rng.standard_normal(C.shape)
    A[unseen, 0] = 0  # what a separation gives a source that it does not see
    return replace(blank, A=A, S=S, noise=np.full(M, 0.01)), C, Y


NAMED = [f"s{j}" for j in range(R)]


@pytest.mark.parametrize("how", ["standards", "responses", "closure"])
def test_amounts_of_what_was_not_observed_are_not_0_but_nan(blank, how):
    separation, C, Y = apart(blank, [20, 21])
    Y[25] = np.nan
    separation.A[25] = 0
    scale = {
        "standards": table_of(C, range(6)),
        "responses": dict(zip(NAMED, separation.S, strict=True)),
        "closure": C.sum(axis=1),
    }
    given = {how: scale[how], "data": Y, "names": NAMED}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that nothing was observed of one
        found = ngmca.quantify(separation, **given)
    unseen = np.zeros((M, R), dtype=bool)
    unseen[[20, 21], 0] = unseen[25] = True
    for values in (found.values, found.low, found.high):
        assert np.isnan(values[unseen]).all()
    np.testing.assert_allclose(found.values[~unseen], C[~unseen], rtol=0.05)
    if how != "closure":
        assert np.isfinite(found.high[~unseen]).all()
    assert np.isfinite(found.detection).all()
    assert not found.below[unseen].any()
    table = dict(found.table())
    assert table["s0 remark"][20] == table["s2 remark"][25] == "not observed"
    assert table["s2 remark"][20] == ""
    told = [
        word for word in found.warnings if word.startswith("s0: 3 of 30 measurements have no amount")
    ]
    assert len(told) == 1
    assert "21, 22 and 26" in told[0]


def test_shares_of_a_measurement_need_all_its_sources(blank):
    separation, _, Y = apart(blank, [20])
    found = ngmca.quantify(separation, data=Y)
    assert np.isnan(found.values[20]).all()
    assert np.isfinite(np.delete(found.values, 20, axis=0)).all()
    assert "21" in found.warnings[1]


@pytest.mark.parametrize("left", [0, 1])  # channels of source 1 with a trace of it
@pytest.mark.parametrize("names", [NAMED, None])
def test_a_standard_that_was_not_observed_is_left_out_and_named(blank, left, names):
    separation, C, Y = apart(blank, [2, 20])
    separation.S[0, 0] = 1e-3
    Y[[2, 20], :left] = 0.0
    found = ngmca.quantify(separation, table_of(C, range(6)), data=Y, names=names)
    assert found.sources == (0, 1, 2)
    assert [int(np.isfinite(column).sum()) for column in found.known.T] == [5, 6, 6]
    assert (
        "s0: these standards were left out, because the observed channels do not show it: 3."
    ) in found.warnings
    assert np.isnan(found.values[2, 0]) if not left else found.high[2, 0] > 5
    seen = np.setdiff1d(np.arange(M), [2, 20])
    np.testing.assert_allclose(found.values[seen], C[seen], rtol=0.05)
    with pytest.raises(
        ValueError, match=r"too few standards of s0 are usable: .* not show it in 3 and 21"
    ):
        ngmca.quantify(separation, table_of(C, [2, 20, 5]), data=Y, names=NAMED)
    with pytest.raises(ValueError, match=r"is s0\. Fewer than 2 of its standards were observed"):
        ngmca.quantify(separation, table_of(C, [2, 20, 5]), data=Y)


def test_gaps_widen_intervals_of_responses(exact):
    separation, C = exact
    K = separation.S / (C[0] / separation.A[0])[:, None]
    separation = replace(separation, noise=np.full(M, 0.01))
    Y = C @ K
    full = ngmca.quantify(separation, responses=K, data=Y)
    Y[3, 20:] = np.nan
    gaps = ngmca.quantify(separation, responses=K, data=Y)
    assert ((gaps.high - gaps.low)[3] > 1.3 * (full.high - full.low)[3]).all()
    np.testing.assert_allclose(gaps.high[4:], full.high[4:])


def said_of(separation, standards):
    """What is said of standards: why they are refused, or the warnings."""
    try:
        return " ".join(ngmca.quantify(separation, standards).warnings)
    except ValueError as error:
        return str(error)


def test_concentrations_that_follow_no_source_are_refused_or_doubted(blank):
    separation, C, _ = noisy(blank, 3)
    rng = np.random.default_rng(12)
    told = [said_of(separation, (rng.permutation(M)[:5], rng.random(5))) for _ in range(400)]
    doubted = ["by chance, with a probability" in words for words in told]
    refused = ["not clear which source" in words for words in told]
    assert sum(doubted) > 0
    assert 400 - sum(doubted) - sum(refused) <= 4
    flat = [said_of(separation, (rng.permutation(M)[:5], rng.uniform(0.9, 1.1, 5))) for _ in range(60)]
    assert all("not clear which source" in words for words in flat)
    assert any("No source follows them better than their mean does" in words for words in flat)
    good = [said_of(separation, (range(i, i + 5), C[i : i + 5])) for i in range(0, 25, 5)]
    assert not any(
        "by chance, with a probability" in words or "not clear which source" in words for words in good
    )


def test_what_is_no_separation_is_refused_with_what_to_pass(exact):
    separation, _ = exact
    for given in ((separation.A, separation.S), ngmca.NGMCA(2, n_init=1)):
        with pytest.raises(TypeError, match=r"must be a Separation.* Pass the separation_ .* Got"):
            ngmca.quantify(given)


def test_leave_one_out_is_that_of_fits_without_each_standard(blank):
    separation, C, rows = noisy(blank, 5)
    separation.A[:, 1:] = 0  # no other source can correct the line
    found = ngmca.quantify(separation, ([*rows], C[rows, :1]))
    errors = []
    for i in rows:
        others = [j for j in rows if j != i]
        slope = C[others, 0] @ separation.A[others, 0] / (C[others, 0] @ C[others, 0])
        errors.append(separation.A[i, 0] / slope - C[i, 0])
    assert found.leave_one_out[0] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)
    relative = found.leave_one_out[0] / C[rows, 0].mean()
    assert found.leave_one_out_relative[0] == pytest.approx(relative)


def test_limits_of_detection_are_3_3_deviations_and_mark_what_is_below(blank):
    separation, C, rows = noisy(blank, 6, known=20)
    separation.A[25, 0] = 0.01
    found = ngmca.quantify(separation, table_of(C, rows))
    assert found.detection[0] == pytest.approx(3.3 * 0.02, rel=0.4)
    assert found.below[25, 0]
    C[25, 0] = 0
    assert not found.below[C > 0.15].any()
    assert any(word.startswith("The limit of detection of s0 is") for word in found.words)


def test_amounts_above_the_highest_standard_are_named(exact):
    separation, C = exact
    rows = np.argsort(C[:, 0])[:6]
    found = ngmca.quantify(separation, table_of(C, rows), names=["s0", "s1", "s2"])
    expected = C[:, 0] > C[rows, 0].max()
    np.testing.assert_array_equal(found.outside[:, 0], expected)
    told = next(word for word in found.warnings if "outside the standards of s0 (0 to " in word)
    assert told.startswith(f"{expected.sum()} of {M}")
    first = str(np.flatnonzero(expected)[0] + 1)
    assert f": {first}," in told


def test_an_offset_is_spoken_of_and_none_is_not(exact):
    separation, C = exact
    A = separation.A.copy()
    A[:, 0] += 0.3 * A[:, 0].max()
    bent = ngmca.quantify(replace(separation, A=A), table_of(C, range(5)), names=["s0", "s1", "s2"])
    assert [w.split(":")[0] for w in bent.warnings if "does not pass through 0" in w] == ["s0"]
    told = [
        "through 0" in " ".join(ngmca.quantify(s, table_of(C, k), names=["s0", "s1", "s2"]).warnings)
        for s, C, k in (noisy(separation, seed, known=8) for seed in range(40))
    ]
    assert np.mean(told) < 0.1


def test_what_cannot_be_told_apart_is_refused_and_a_name_helps(exact):
    separation, C = exact
    C = C.copy()
    C[1] = 2 * C[0]  # two standards of the same composition
    A = separation.A.copy()
    A[1] = 2 * A[0]
    separation = replace(separation, A=A)
    with pytest.raises(
        ValueError, match=r"not clear which source is s0\. .*, or name the sources \(names"
    ):
        ngmca.quantify(separation, table_of(C, [0, 1]))
    named = ngmca.quantify(separation, table_of(C, [0, 1]), names=["S0 ", "s1", None])
    np.testing.assert_allclose(named.values[:, :2], C[:, :2], rtol=1e-6)
    with pytest.raises(ValueError, match="sources 1 and 2 both have the name 's0'"):
        ngmca.quantify(separation, table_of(C, [0, 1]), names=["s0", "s0", None])


def test_a_substance_that_follows_a_source_of_another_name_is_a_warning(exact):
    separation, C = exact
    told = ngmca.quantify(separation, table_of(C, range(6)), names=["sugar", None, "s2"]).warnings
    told = [word for word in told if "by its standards" in word]
    assert len(told) == 1
    assert told[0].startswith(
        "s0 belongs to source 1 by its standards, but this source has the name sugar. One of the two is "
        "wrong"
    )


def test_standards_that_are_too_alike_have_no_intervals_and_a_warning(exact):
    separation, C = exact
    rng = np.random.default_rng(7)
    D = np.vstack([np.linspace(0.2, 1, 5)[:, None] * [1, 1, 1], C[5:]])
    A = D @ (np.eye(R) + 0.1 * rng.random((R, R))) + 1e-3 * rng.standard_normal(D.shape)
    separation = replace(separation, A=A, S=np.eye(R, N), noise=np.full(M, 1e-3))
    found = ngmca.quantify(separation, table_of(D, range(5)), names=["s0", "s1", "s2"])
    assert np.isnan(found.low).all()
    assert "standards of s0, s1 and s2, other substances vary far less" in " ".join(found.warnings)
    assert not any(" low" in name for name, _ in found.table())
    random = ngmca.quantify(separation, table_of(D, range(5, 12)))
    assert "vary far less" not in " ".join(random.warnings)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"s0": [1, None, None]}, "s0 has 1 standard with a known amount above 0, but at least 2"),
        ({"s0": [None, None, None]}, "s0 has 0 standards"),
        ({"s0": [0, 0, 0]}, "s0 is 0 in all standards"),
        ({"s3": [1, 2, 3]}, "standards have 4 substances .* there are 3 sources"),
        ({"measurement": [1, 2, 99]}, "no measurement has the name '99'"),
    ],
)
def test_standards_that_give_no_line_are_refused(exact, change, words):
    separation, C = exact
    with pytest.raises(ValueError, match=words):
        ngmca.quantify(separation, table_of(C, [0, 1, 2]) | change)


def test_a_source_without_weight_is_not_calibrated(exact):
    separation, C = exact
    A = separation.A.copy()
    A[:5, 1] = 0
    with pytest.raises(ValueError, match="source 2 has no weight in any of the standards of s1"):
        ngmca.quantify(replace(separation, A=A), table_of(C, range(5)), names=["s0", "s1", "s2"])


def test_an_empty_source_has_no_amounts(exact):
    separation, C = exact
    S = separation.S.copy()
    S[1] = 0
    separation = replace(separation, S=S)
    with pytest.raises(ValueError, match="source 2 has no weight"):
        ngmca.quantify(separation, table_of(C, range(5)), names=["s0", "s1", "s2"])
    assert not ngmca.quantify(separation).values[:, 1].any()


def test_wrong_arguments_are_refused(exact):
    separation, C = exact
    table = table_of(C, range(5))
    for arguments, words in (
        ({"standards": table, "closure": True}, "standards cannot be combined with closure"),
        ({"level": 1.0}, "level must be above 0 and below 1"),
        ({"names": ["a", "b"]}, "names must have 3 names"),
        ({"data": ["a", "b"]}, "has 2 names, but 30 measurements were separated"),
        ({"data": io.Dataset(np.ones((2, N)))}, "30 x 120 were separated"),
    ):
        with pytest.raises(ValueError, match=words):
            ngmca.quantify(separation, **arguments)
    with pytest.raises(TypeError, match="unit must be text"):
        ngmca.quantify(separation, table, unit=3)


def test_names_of_measurements_come_from_data(exact):
    separation, C = exact
    names = [f"tube {i}" for i in range(M)]
    table = table_of(C, range(5)) | {"measurement": names[:5]}
    frame = pd.DataFrame(separation.A @ separation.S, index=names)
    for data in (names, frame, io.Dataset(separation.A @ separation.S, row_names=tuple(names))):
        found = ngmca.quantify(separation, table, data=data)
        assert found.measurements == tuple(names)
        np.testing.assert_allclose(found.values, C, rtol=1e-9)


def test_data_are_data_however_they_come(exact):
    separation, C = exact
    xarray = pytest.importorskip("xarray")
    Y = separation.A @ separation.S
    gaps = Y.copy()
    gaps[20, 3:] = np.nan
    expected = ngmca.quantify(separation, table_of(C, range(5)), data=gaps)
    assert expected.high[20, 0] > ngmca.quantify(separation, table_of(C, range(5)), data=Y).high[20, 0]
    masked = np.ma.masked_array(Y, np.isnan(gaps))
    array = xarray.DataArray(gaps, dims=("sample", "channel"))
    for data in (gaps.tolist(), masked, array, pd.DataFrame(gaps), io.Dataset(gaps)):
        found = ngmca.quantify(separation, table_of(C, range(5)), data=data)
        assert found.measurements == tuple(str(i + 1) for i in range(M))
        np.testing.assert_allclose(found.high, expected.high)
    for data, words in ((Y.T.tolist(), "give them transposed"), (Y[0], "names of measurements"),
                        (list(range(M)), "measurements as text"), ({"a": 1}, "must hold numbers"),
                        (3, "measurements as text")):  # fmt: skip
        with pytest.raises((TypeError, ValueError), match=words):
            ngmca.quantify(separation, data=data)


def test_an_index_of_numbers_is_matched_with_names_and_never_guessed(exact):
    separation, C = exact
    rows = [3, 5, 8, 9, 14]
    known = pd.DataFrame(C, columns=["a", "b", "c"])
    frame = pd.DataFrame(separation.A @ separation.S)
    for data in (None, separation.A @ separation.S, frame):
        with pytest.raises(
            ValueError, match=r"the index 3, 5, 8 \.\.\., and measurements have no names"
        ):
            ngmca.quantify(separation, known.iloc[rows], data=data)
    for shift in (1, 100):  # names of their own, by which both are labelled
        data, table = frame.set_axis(np.arange(M) + shift), known.set_axis(np.arange(M) + shift)
        found = ngmca.quantify(separation, table.iloc[rows], data=data)
        np.testing.assert_allclose(found.values, C, rtol=1e-9)
    counted = known.iloc[rows].assign(m=[row + 1 for row in rows])[["m", "a", "b", "c"]]
    found = ngmca.quantify(separation, counted.reset_index(drop=True), data=frame)
    assert found.measurements[:2] == ("1", "2")
    np.testing.assert_allclose(found.values, C, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_of_data_and_of_concentrations_do_not_matter(blank, scale):
    separation, C, rows = noisy(blank, 8, leak=0.05)
    plain = ngmca.quantify(separation, table_of(C, rows))
    large = noisy(blank, 8, leak=0.05, size=scale)[0]
    found = ngmca.quantify(large, table_of(C * 1e200, rows))
    for name in ("values", "low", "high", "detection", "leave_one_out"):
        np.testing.assert_allclose(getattr(found, name) / 1e200, getattr(plain, name), rtol=1e-9)
    single = replace(separation, A=separation.A.astype(np.float32), S=separation.S.astype(np.float32))
    np.testing.assert_allclose(
        ngmca.quantify(single, table_of(C, rows)).values, plain.values, rtol=1e-5, atol=1e-6
    )


def test_without_standards_amounts_are_relative_and_say_so(exact):
    separation, _ = exact
    found = ngmca.quantify(separation, names=["a", None, "c"])
    assert found.relative
    assert found.substances == ("a", "source 2", "c")
    np.testing.assert_allclose(found.values, 100 * separation.shares)
    assert np.isnan(found.low).all()
    assert "relative" in found.words[0]
    assert "not concentrations" in found.words[0]


def test_responses_undo_what_sources_hold_of_each_other(exact):
    _, C = exact
    separation = exact[0]
    rng = np.random.default_rng(9)
    K = rng.random((R, N)) ** 4 * [[1], [10], [0.01]]
    clean = C @ K
    sd = 0.01 * clean.mean()
    Y = clean + sd * rng.standard_normal(clean.shape)
    blend = np.array([[1, 0.2, 0], [0, 1, 0], [0.1, 0, 1]])[[1, 2, 0]]
    scaled = K / K.sum(axis=1, keepdims=True)
    S = blend @ scaled
    A = np.clip(Y @ np.linalg.pinv(S), 0, None)
    separation = replace(separation, A=A, S=S, noise=np.full(M, sd))
    found = ngmca.quantify(separation, responses={"a": K[0], "b": K[1], "c": K[2]}, data=Y, unit="mM")
    assert found.sources == (2, 0, 1)
    assert found.units == ("mM",) * 3
    z = (found.values - C) / ((found.high - found.low) / 2 / 1.645)
    assert np.sqrt(np.mean(z[:, :2] ** 2)) == pytest.approx(1, abs=0.25)
    without = ngmca.quantify(separation, responses=K)
    np.testing.assert_allclose(without.values, found.values, atol=0.2)
    assert np.isnan(without.low).all()
    assert "give data." in without.warnings[0]
    shrunk = ngmca.quantify(replace(separation, A=0.5 * A), responses=K, data=Y)
    np.testing.assert_allclose(
        shrunk.values, found.values
    )  # data say more than weights that were shrunk
    one = ngmca.quantify(separation, responses=K[:1], data=Y)
    assert np.isnan(one.low).all()
    assert "2 of 3 sources have no reference" in one.warnings[0]


def test_responses_are_brought_to_the_axis_or_refused(exact):
    separation, C = exact
    axis = np.linspace(1000, 2000, N)
    K = separation.S / (C[0] / separation.A[0])[:, None]
    data = io.Dataset(separation.A @ separation.S, axis, "wavenumber", "cm-1")
    other = io.Dataset(K[:, ::-1], axis[::-1], "wavenumber", "cm-1", ("a", "b", "c"))
    found = ngmca.quantify(separation, responses=other, data=data)
    assert found.substances == ("a", "b", "c")
    np.testing.assert_allclose(found.values, C, rtol=1e-4, atol=1e-4)
    for responses, words in (
        (io.Dataset(K, axis, "wavelength", "nm"), "convert one of them first"),
        (io.Dataset(K, axis + 500, "wavenumber", "cm-1"), "separate the common range"),
        (K[:, :50], "50 channels and the sources 120"),
        (np.vstack([K, K[:1]]), "responses have 4 spectra, but there are 3 sources"),
        (np.zeros((1, N)), "is 0 everywhere"),
        (np.eye(1, N), "no source is similar to that"),
        (np.full((1, N), np.nan), "contains NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            ngmca.quantify(separation, responses=responses, data=data)


def test_a_background_belongs_to_no_substance(exact):
    separation, C = exact
    K = separation.S / (C[0] / separation.A[0])[:, None]
    basis = ngmca.backgrounds.polynomial(N, 2)
    background = Background(np.random.default_rng(2).random((M, len(basis))), basis)
    Y = C @ K + background.values
    separation = replace(separation, background=background)
    found = ngmca.quantify(separation, responses=K, data=Y)
    np.testing.assert_allclose(found.values, C, rtol=1e-5, atol=1e-6)
    # and it makes weights less certain
    plain = ngmca.quantify(exact[0], responses=K, data=C @ K)
    assert (found.detection > plain.detection).all()
    assert np.isfinite(ngmca.quantify(separation, table_of(C, range(5)), data=Y).high).all()


def test_totals_give_amounts_that_add_up(exact):
    separation, C = exact
    found = ngmca.quantify(separation, closure=C.sum(axis=1), unit="g")
    np.testing.assert_allclose(found.values, C, rtol=1e-6)
    np.testing.assert_allclose(found.factors, C[0] / separation.A[0], rtol=1e-6)
    assert np.isnan(found.low).all()
    assert "no intervals" in found.warnings[0]
    shares = C / C.sum(axis=1, keepdims=True)
    closed = ngmca.quantify(replace(separation, A=shares * FACTORS), closure=True)
    np.testing.assert_allclose(closed.values, shares, rtol=1e-6)
    missed = ngmca.quantify(separation, closure=np.linspace(1, 9, M))
    assert "differ from the totals" in missed.warnings[1]
    for totals, words in ((np.ones(3), "30 totals"), (0.0, "above 0"), ([np.nan] * M, "above 0")):
        with pytest.raises(ValueError, match=words):
            ngmca.quantify(separation, closure=totals)
    with pytest.raises(ValueError, match="do not determine the amounts"):
        ngmca.quantify(replace(separation, A=np.ones((M, R))), closure=True)


def test_the_table_can_be_written_and_read(exact, tmp_path):
    separation, C = exact
    found = ngmca.quantify(separation, table_of(C, range(5), s0="s0 (mg/L)"))
    io.write_table(tmp_path / "amounts.csv", found.table())
    table = pd.read_csv(tmp_path / "amounts.csv")
    np.testing.assert_allclose(table["s0 (mg/L)"], C[:, 0], rtol=1e-9)
    assert table["s0 remark"][0] == "standard"
    assert (table["s1 low"] <= table["s1"]).all()
    assert repr(found) == "Amounts of 3 substances in 30 measurements: s0, s1, s2"


def test_pictures_show_lines_and_amounts(exact):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    separation, C = exact
    figure = ngmca.quantify(separation, table_of(C, range(5))).plot()
    left, right = figure.axes[0], figure.axes[1]
    assert len(figure.axes) == 6
    np.testing.assert_allclose(left.lines[1].get_xdata()[:5], C[:5, 0])
    np.testing.assert_allclose(left.lines[1].get_ydata()[:5], C[:5, 0], rtol=1e-6)
    np.testing.assert_allclose(right.lines[0].get_ydata(), C[:, 0], rtol=1e-6)
    assert len(ngmca.quantify(separation).plot().axes) == 3
    pyplot.close("all")


@pytest.mark.parametrize("seed", [0, 1])
def test_five_standards_of_a_real_separation_are_enough(seed):
    mixture = ngmca.simulate.nmr(m=40, r=5, snr=25, seed=seed)
    separation = ngmca.separate(mixture.Y, 5, n_init=1)
    found = ngmca.quantify(separation, (range(5), mixture.A[:5]), data=io.Dataset(mixture.Y))
    rest, true = found.values[5:], mixture.A[5:]
    assert found.sources == tuple(ngmca.evaluate(mixture.S, separation.S).order)
    assert np.median(np.abs(rest - true) / true) < 0.02
    held = np.mean((found.low[5:] <= true) & (true <= found.high[5:]))
    assert 0.7 < held < 1


@pytest.mark.parametrize("kind", ["counts", "channels", "gaps"])
def test_intervals_by_responses_hold_where_noise_is_not_the_same_everywhere(kind):
    t = np.arange(300)
    S = np.stack([np.exp(-0.5 * ((t - c) / w) ** 2) for c, w in ((60, 12), (120, 25), (200, 18))])
    inside = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A = 10 * rng.dirichlet(np.ones(3), 24)
        noise = None
        if kind == "counts":
            Y, noise = rng.poisson(20 * (A @ S)) / 20, ngmca.Counts(gain=1 / 20)
        elif kind == "channels":
            levels = 0.05 * np.exp(rng.normal(size=300))
            Y, noise = A @ S + levels * rng.normal(size=(24, 300)), np.tile(levels, (24, 1))
        else:
            Y = A @ S + 0.05 * rng.normal(size=(24, 300))
            Y[:12][rng.random((12, 300)) < 0.9] = np.nan
        found = ngmca.separate(Y, 3, noise=noise, seed=seed, n_init=1)
        amounts = ngmca.quantify(found, responses=dict(zip("abc", S, strict=True)), data=Y)
        inside.append(np.mean((amounts.low <= A) & (amounts.high >= A)))
    assert np.mean(inside) > 0.82  # 0.32, 0.76 and 0.62 with one level a measurement and no gaps
