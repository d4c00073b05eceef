"""Which substance a source is: alike whatever scale and axis, and claimed only beyond chance."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
import real_data

import ngmca
from ngmca.answers.which import similarity as likeness
from ngmca.io import Dataset, write_table

matplotlib.use("Agg")

N = 400
AXIS = np.linspace(600.0, 3600.0, N)
FINE = np.linspace(500.0, 3700.0, 6001)


def bands(axis, seed, count=12):
    """A spectrum of random bands, the same one on every axis."""
    rng = np.random.default_rng([seed, 5])
    places, widths, heights = (
        rng.uniform(700, 3500, count),
        rng.uniform(15, 40, count),
        rng.exponential(1, count),
    )
    parts = heights[:, None] * np.exp(-(((axis - places[:, None]) / widths[:, None]) ** 2))
    return parts.sum(axis=0)


LIBRARY = {f"s{seed}": (FINE, bands(FINE, seed)) for seed in range(60)}
S = np.stack([bands(AXIS, seed) for seed in (3, 17, 41)])
NAMES = ("s3", "s17", "s41")


def drop(*names):
    return {name: LIBRARY[name] for name in LIBRARY if name not in names}


def test_sources_are_named():
    found = ngmca.identify(S, LIBRARY, axis=AXIS)
    assert found.claims == NAMES
    assert found.substances == 60
    for best in found.matches:
        assert len({match.name for match in best}) == 5
        similarities = [match.similarity for match in best]
        assert similarities == sorted(similarities, reverse=True)
        assert similarities[0] > 0.999
        assert similarities[1] < 0.9
        assert best[0].chance == pytest.approx(2 / 61)
        assert best[-1].chance > 0.3
        assert not best[-1].confident
    np.testing.assert_allclose(found.references, S, atol=0.02 * S.max())
    assert not found.blends
    assert not found.splits
    assert (
        found.words[0]
        == "Source 1 is s3: similarity 1.00; another substance would match as well in 3.3 % of cases."
    )
    assert len(found.words) == 3
    assert repr(found) == "Identification: 3 of 3 sources among 60 substances"


@pytest.mark.parametrize(
    "change",
    [
        lambda X: 2e307 * X,
        lambda X: 1e-300 * X,
        lambda X: -X,
        lambda X: X + 100,
        lambda X: X + 2 * X.max() * np.linspace(0, 1, X.shape[-1]),
        lambda X: X.astype(np.float32),
        lambda X: np.round(1000 * X).astype(np.int16),
        lambda X: X.tolist(),
        lambda X: X + 0.005 * X.max() * np.random.default_rng(0).standard_normal(X.shape),
    ],
)
def test_scale_sign_baseline_and_noise_do_not_matter(change):
    found = ngmca.identify(change(S), LIBRARY, axis=AXIS)
    assert found.claims == NAMES
    assert np.isfinite(found.references).all()
    given = np.asarray(change(S), float)
    peak = np.abs(given).max()
    inverted = [best[0].inverted for best in found.matches]
    assert inverted == [bool(peak == -given.min())] * 3
    assert np.abs(found.references / peak - given / peak).max() < 0.05
    other = {
        name: (x, np.squeeze(np.asarray(change(y[None]), float))) for name, (x, y) in LIBRARY.items()
    }
    assert ngmca.identify(S, other, axis=AXIS).claims == NAMES


def test_axes_may_fall_and_have_other_units():
    order = np.random.default_rng(1).permutation(N)
    for axis, sources in ((AXIS[::-1], S[:, ::-1]), (AXIS[order], S[:, order])):
        found = ngmca.identify(sources, LIBRARY, axis=axis)
        assert found.claims == NAMES
        np.testing.assert_allclose(found.references, sources, atol=0.02 * S.max())
    nanometres = {
        name: Dataset(y[None], 1e7 / x, "wavelength", "nm") for name, (x, y) in LIBRARY.items()
    }
    found = ngmca.identify(S, nanometres, axis=AXIS, unit="cm-1")
    assert found.claims == NAMES
    assert "Axes in nm were converted to cm-1." in found.words
    data = Dataset(S, AXIS, "wavenumber", "cm-1")
    assert ngmca.identify(S, nanometres, axis=data).axis_label == "wavenumber [cm-1]"


def test_many_channels_are_averaged_with_the_same_answer():
    axis = np.linspace(600.0, 3600.0, 20_000)
    fine = np.stack([bands(axis, seed) for seed in (3, 17, 41)])
    found = ngmca.identify(fine, LIBRARY, axis=axis)
    assert found.claims == NAMES
    assert found.references.shape == fine.shape
    np.testing.assert_allclose(found.references, fine, atol=0.01)


def test_a_separation_is_identified():
    mixture = ngmca.simulate.nmr(m=20, compounds=("lactate", "taurine", "glutamine"), snr=30, seed=0)
    separation = ngmca.separate(mixture.Y, 3, n_init=1)
    library = {name: ngmca.simulate.spectrum(name) for name in ngmca.simulate.compounds()}
    found = ngmca.identify(separation, library, axis=mixture.axis, unit="ppm")
    assert set(found.claims) == set(mixture.names)


def test_what_is_not_in_the_library_is_rarely_claimed():
    claims = 0
    for seed in range(60):
        name = f"s{seed}"
        found = ngmca.identify(bands(AXIS, seed)[None], drop(name), axis=AXIS)
        assert found.matches[0][0].name != name
        claims += found.claims[0] is not None
    assert claims <= 6


def test_chance_counts_the_source_among_the_others():
    """By hand: four substances, 0 and 1 of them 0.9 alike; the source is as alike to 2 as given."""
    kinds = np.arange(4)
    nearest = np.array([0.9, 0.9, 0.3, 0.2])
    similar = np.array([0.1, 0.2, 0.5, 0.4])
    expected = [1.0, 1.0, 4 / 5, 5 / 5]  # of 5 with the source: those that have a neighbour as near
    np.testing.assert_allclose(likeness.chance(similar, nearest, kinds), expected)
    np.testing.assert_allclose(likeness.chance(-similar, nearest, kinds), expected)
    assert likeness.chance(np.array([0.1, 0.2, 0.95, 0.4]), nearest, kinds)[2] == pytest.approx(2 / 5)
    # two spectra of one substance count once
    assert likeness.chance(similar, nearest, np.array([0, 0, 1, 2]))[2] == pytest.approx(3 / 4)


def test_chance_is_valid_whatever_the_spectra_are():
    rng = np.random.default_rng(0)
    hits = []
    for _ in range(400):
        X = rng.standard_normal((41, 3))  # strongly alike by chance
        C = np.abs(likeness._unit(X) @ likeness._unit(X).T)
        kinds = np.arange(40)
        nearest = likeness.nearest_other(C[1:, 1:], kinds)
        hits.append(likeness.chance(C[0, 1:], nearest, kinds).min())
    assert np.mean(np.array(hits) <= 0.1) <= 0.13  # 0.1 and three standard errors would be 0.145


def test_spectra_of_one_name_are_one_substance_and_copies_are_told():
    rng = np.random.default_rng(2)
    rows = np.stack([y + 0.02 * rng.standard_normal(len(y)) for _, y in LIBRARY.values()])
    twice = [Dataset(np.stack([y for _, y in LIBRARY.values()]), FINE, row_names=tuple(LIBRARY)),
             Dataset(rows, FINE, row_names=tuple(LIBRARY))]  # fmt: skip
    found = ngmca.identify(S, twice, axis=AXIS)
    assert found.substances == 60
    assert found.claims == NAMES
    assert len({match.name for match in found.matches[0]}) == 5
    copied = ngmca.identify(S, LIBRARY | {"copy": LIBRARY["s3"]}, axis=AXIS)
    assert copied.substances == 60
    assert "Source 1 is s3 (or copy, equally similar)" in copied.words[0]


def test_small_shifts_are_found_within_the_tolerance():
    moved = {name: (x + 22.5, y) for name, (x, y) in LIBRARY.items()}  # references 3 channels too high
    without = ngmca.identify(S, moved, axis=AXIS)
    found = ngmca.identify(S, moved, axis=AXIS, tolerance=30)
    assert found.claims == NAMES
    for best, worse in zip(found.matches, without.matches, strict=True):
        assert best[0].shift == pytest.approx(-22.5, abs=4)
        assert best[0].similarity > 0.98 > worse[0].similarity
    np.testing.assert_allclose(found.references[:, 10:-10], S[:, 10:-10], atol=0.15 * S.max())
    assert ngmca.identify(S, LIBRARY, axis=AXIS, tolerance=30).matches[0][0].shift == 0
    for wrong in (-1, 301, np.nan):
        with pytest.raises(ValueError, match="tolerance must be"):
            ngmca.identify(S, LIBRARY, axis=AXIS, tolerance=wrong)


def test_fine_spectra_are_averaged_not_sampled():
    axis = np.linspace(0, 100, 101)
    x = np.linspace(0, 100, 10_001)
    y = np.where(np.abs(x - 50.4) < 0.045, 10.0, 0.0)  # a line between the channels
    np.testing.assert_allclose(likeness.averaged(x, y, axis).sum(), 10 * 0.09, rtol=0.12)
    straight = likeness.averaged(x, 3 * x + 1, axis)
    np.testing.assert_allclose(straight[1:-1], 3 * axis[1:-1] + 1)
    part = likeness.averaged(x[2000:6001], np.ones(4001), axis)
    np.testing.assert_array_equal(np.isfinite(part), (axis >= 20) & (axis <= 60))
    y[x == 70] = np.nan
    holed = likeness.averaged(x, y, axis)
    assert np.flatnonzero(np.isnan(holed)).tolist() == [70]
    uneven = np.r_[0:10.5, 60:70.5]
    np.testing.assert_allclose(likeness.averaged(x, x, uneven)[[10, 11]], [10, 60])  # not into the gap


def test_a_few_spectra_say_that_chance_cannot_be_told():
    for size in (1, 2, 5):
        library = {name: LIBRARY[name] for name in ("s3", "s17", "s41", "s5", "s6")[:size]}
        found = ngmca.identify(S, library, axis=AXIS)
        assert found.claims == tuple(name if name in library else None for name in NAMES)
        assert any(f"has only {size} substance" in words for words in found.words)
    alone = ngmca.identify(S[1:], {"s3": LIBRARY["s3"]}, axis=AXIS)
    assert alone.claims == (None, None)
    assert all(len(best) == 1 for best in alone.matches)
    # alike, but not as it is: 0.9 is not enough to be sure from a few
    near = ngmca.identify(S[:1] + 0.5 * S[1], {"s3": LIBRARY["s3"]}, axis=AXIS)
    assert 0.7 < near.matches[0][0].similarity < 0.95
    assert near.claims == (None,)
    assert near.matches[0][0].chance < 0.06


def test_two_substances_in_one_source_are_told():
    found = ngmca.identify((0.6 * S[0] + 0.4 * S[1])[None], LIBRARY, axis=AXIS)
    (blend,) = found.blends
    assert set(blend.names) == {"s3", "s17"}
    assert blend.weights[0] >= blend.weights[1] > 0.1
    assert sum(blend.weights) == pytest.approx(1)
    assert blend.similarity > 0.99
    assert any("looks like two substances" in words for words in found.words)
    assert not ngmca.identify((0.6 * S[0] + 0.4 * S[1])[None], drop("s3"), axis=AXIS).blends
    assert not ngmca.identify(S[:1] + 0.01 * S[1], LIBRARY, axis=AXIS).blends


def test_one_substance_in_two_sources_is_told():
    low = np.cumsum(S[0] ** 2) < 0.5 * np.sum(S[0] ** 2)
    halves = np.stack([S[1], 5 * S[0] * low, S[0] * ~low])
    found = ngmca.identify(halves, LIBRARY, axis=AXIS)
    assert [(split.sources, split.name) for split in found.splits] == [((1, 2), "s3")]
    assert found.splits[0].similarity > 0.95
    assert any("Sources 2 and 3 look like parts of one substance, s3" in words for words in found.words)
    assert not ngmca.identify(halves, drop("s3"), axis=AXIS).splits
    same = ngmca.identify(np.stack([S[0], 2 * S[0]]), LIBRARY, axis=AXIS)
    assert any("Sources 1 and 2 all match s3" in words for words in same.words)


def test_only_what_is_common_is_compared():
    half = {name: (x[x < 2500], y[x < 2500]) for name, (x, y) in LIBRARY.items()}
    found = ngmca.identify(S, half, axis=AXIS)
    assert found.claims == NAMES
    assert found.compared[1] == pytest.approx(2500, abs=10)
    assert any("Only the range from 600 to 2" in words and "63" in words for words in found.words)
    assert np.isnan(found.references[:, AXIS > 2510]).all()
    assert np.isfinite(found.references[:, AXIS < 2490]).all()
    # one that covers little is left out by its name, and does not narrow the range for others
    short = {f"t{i}": (x[:300], y[:300]) for i, (x, y) in enumerate(LIBRARY.values())}
    found = ngmca.identify(S, short | drop("s5"), axis=AXIS)
    assert found.claims == NAMES
    assert found.compared == (600, 3600)
    assert len(found.left_out) == 60
    assert "t0, 500 to" in found.left_out[0]
    assert any("And 59 more" in words for words in found.words)


@pytest.mark.parametrize("shift", [5000.0, 3090.0])
def test_no_common_range_is_an_error(shift):
    away = {"a": (FINE + shift, bands(FINE, 0))}
    with pytest.raises(
        ValueError, match=r"no common range: .* Check that both|channels in common, .* at least 8"
    ):
        ngmca.identify(S, away, axis=AXIS)


def test_flat_and_missing_spectra():
    holes = LIBRARY["s3"][1].copy()
    holes[2000:2100] = np.nan
    empty = np.full(len(FINE), np.nan)
    odd = {"flat": (FINE, np.full(len(FINE), 7.0)), "nothing": (FINE, empty), "s3": (FINE, holes)}
    found = ngmca.identify(S, drop("s3") | odd, axis=AXIS)
    assert found.claims == NAMES
    assert found.left_out == ("flat is flat.", "nothing has no numbers.")
    assert 3 <= np.isnan(found.references[0]).sum() <= 15
    with pytest.raises(
        ValueError, match=r"no spectrum that can be compared. The first reason: flat is flat\."
    ):
        ngmca.identify(S, {"flat": odd["flat"]}, axis=AXIS)
    silent = ngmca.identify(np.stack([S[0], 0 * S[0], 0 * S[0] + 5]), LIBRARY, axis=AXIS)
    assert silent.claims == ("s3", None, None)
    assert silent.matches[1:] == ((), ())
    assert np.isnan(silent.references[1:]).all()
    assert "Source 2 has no bands" in silent.words[1]
    silent.plot()


def test_sources_need_an_axis_that_fits():
    for axis, match in (
        (None, "pass axis, the position"),
        (Dataset(S), "pass axis, the position"),
        (AXIS[:-1], "each of the 400 channels"),
        (AXIS * np.nan, "finite positions"),
        (np.zeros(N), "each only once"),
    ):
        with pytest.raises(ValueError, match=match):
            ngmca.identify(S, LIBRARY, axis=axis)
    with pytest.raises(ValueError, match="unit must be left out if axis is a Dataset"):
        ngmca.identify(S, LIBRARY, axis=Dataset(S, AXIS), unit="nm")
    with pytest.raises(ValueError, match="S contains NaN"):
        ngmca.identify(np.where(S.max() == S, np.nan, S), LIBRARY, axis=AXIS)
    with pytest.raises(ValueError, match="2 channels in common"):
        ngmca.identify(S[:, :2], LIBRARY, axis=AXIS[:2])
    bad = Dataset(bands(FINE, 0)[None], FINE, "frequency", "Hz")
    with pytest.raises(ValueError, match=r"s0 has an axis in Hz.* convert"):
        ngmca.identify(S, {"s0": bad}, axis=AXIS, unit="cm-1")


def test_the_table_has_a_line_a_match_and_can_be_written(tmp_path):
    found = ngmca.identify(S, LIBRARY, axis=AXIS)
    columns = dict(found.table())
    assert list(columns) == ["source", "rank", "name", "similarity", "shift", "chance", "confident"]
    assert columns["source"] == [1] * 5 + [2] * 5 + [3] * 5
    assert columns["rank"] == [1, 2, 3, 4, 5] * 3
    assert columns["name"][::5] == list(NAMES)
    assert columns["confident"][::5] == [True] * 3
    write_table(tmp_path / "identification.csv", found.table())
    assert (tmp_path / "identification.csv").read_text().splitlines()[1].startswith("1,1,s3,0.99")


def test_the_picture_has_each_source_below_its_reference():
    found = ngmca.identify(1e300 * S, LIBRARY, axis=AXIS[::-1], tolerance=0)
    figure = found.plot()
    assert len(figure.axes) == 3
    for i, panel in enumerate(figure.axes):
        below, above = (line.get_ydata() for line in panel.lines)
        np.testing.assert_allclose(below, S[i] / S[i].max())
        assert above.mean() > below.mean() + 1
        assert panel.get_title(loc="left").startswith(found.matches[i][0].name)
    assert figure.axes[-1].get_xlim() == (3600, 600)
    matplotlib.pyplot.close("all")


def test_infrared_sources_are_named_from_the_files():
    """Real spectra on other axes, other steps and other ordinates than the mixture's."""
    jcamp = pytest.importorskip("jcamp")
    folder = real_data.infrared()
    axis = np.linspace(650, 3750, 1000)
    chosen = ("acetone", "methanol", "water", "carbon tetrafluoride")
    rows = []
    for name in chosen:
        data = jcamp.readfile(str(folder / f"{name}.jdx"))
        y = np.asarray(data["y"], float)
        y = -np.log10(np.clip(y, 1e-3, None)) if "TRANS" in data["yunits"].upper() else y
        rows.append(np.interp(axis, data["x"], y))
    found = ngmca.identify(np.stack(rows), folder, axis=axis, unit="cm-1")
    assert found.claims == chosen
    assert found.substances == 66  # of 69 spectra: one is there twice, two lie elsewhere
    assert all("example_compound_file" in why for why in found.left_out)
    assert len(found.left_out) == 2


def broad(rng, count, number=2, width=25):
    """Spectra of a few broad bands each on 600 channels: any is nearly the sum of some other two."""
    axis = np.arange(600.0)
    places = rng.uniform(20, 580, (count, number, 1))
    heights = rng.uniform(0.1, 1, (count, number, 1))
    return axis, (heights * np.exp(-0.5 * ((axis - places) / width) ** 2)).sum(axis=1)


def test_a_pure_substance_that_is_absent_is_rarely_taken_for_two():
    """Of 300 spectra of two broad bands, some two add up to a third in two of five cases."""
    alarms = sums = 0
    for seed in range(3):
        axis, rows = broad(np.random.default_rng(seed), 320)
        library = {f"s{i}": (axis, row) for i, row in enumerate(rows[20:])}
        found = ngmca.identify(rows[:20], library, axis=axis)
        alarms += len(found.blends)
        mixed = ngmca.identify(rows[20:26:2] + rows[21:27:2], library, axis=axis).blends
        sums += sum(set(one.names) == {f"s{2 * one.source}", f"s{2 * one.source + 1}"} for one in mixed)
    assert alarms <= 6  # of 60; 24 without a look at what chance does
    assert sums >= 7  # of 9


def test_sums_of_very_broad_bands_mean_little():
    """Sources and libraries of a few, of which some two add up to a third in one of four cases."""
    alarms = np.zeros(2)
    for seed in range(8):
        for size in (10, 30, 60):
            axis, rows = broad(np.random.default_rng(seed), size + 10, number=3, width=60)
            library = {f"s{i}": (axis, row) for i, row in enumerate(rows[10:])}
            found = ngmca.identify(rows[:10], library, axis=axis)
            alarms += len(found.blends), len(found.splits)
    assert (alarms <= 14).all()  # of 240


def test_related_spectra_in_a_small_library_are_rarely_claimed():
    """Families of spectra with a common part: the next of kin of an absent one is in the library."""
    claims = []
    for seed in range(24):
        rng = np.random.default_rng(seed)
        axis, parts = broad(rng, 9, number=6, width=6)
        kin = np.repeat(parts, rng.integers(1, 6, 9), axis=0)[:25]
        kin = (kin + 0.5 * broad(rng, len(kin), width=6)[1])[rng.permutation(len(kin))]
        library = {f"s{i}": (axis, row) for i, row in enumerate(kin[4:])}
        claims += ngmca.identify(kin[:4], library, axis=axis).claims
        assert ngmca.identify(kin[4:6], library, axis=axis).claims == ("s0", "s1")
    assert np.mean([claim is not None for claim in claims]) <= 0.06


def test_what_chance_means_is_told_for_a_few_and_for_many():
    many = ngmca.identify(S, LIBRARY, axis=AXIS)
    assert "how often a substance that is not in the library" in many.chance_meaning
    assert "another substance would match as well in 3.3 %" in many.words[0]
    few = ngmca.identify(S, {"s3": LIBRARY["s3"], "s5": LIBRARY["s5"]}, axis=AXIS)
    assert "bands of the source, moved to other positions" in few.chance_meaning
    assert "fewer than 33" in few.chance_meaning
    assert "its bands at other positions would match as well in 0.5 % of cases" in few.words[0]
    assert not any("another substance would match" in words for words in few.words)


def test_a_unit_that_was_taken_is_the_first_warning():
    library = {name: Dataset(y[None], x, "wavenumber", "cm-1") for name, (x, y) in LIBRARY.items()}
    found = ngmca.identify(np.stack([S[0], S[0]]), library, axis=AXIS)
    assert "has no unit. That of the library, cm-1, was assumed" in found.warnings[0]
    assert "Sources 1 and 2" in found.warnings[1]
    assert set(found.warnings) < set(found.words)
    assert not ngmca.identify(S, library, axis=AXIS, unit="cm-1").warnings
    raman = Dataset(S, AXIS, "Raman shift", "cm-1")
    assert "Raman" in ngmca.identify(S, library, axis=raman).warnings[0]


def test_the_axis_may_be_the_columns_of_a_table():
    table = pd.DataFrame(np.ones((2, N)), columns=pd.Index(AXIS, name="wavenumber"))
    found = ngmca.identify(S, LIBRARY, axis=table)
    assert found.claims == NAMES
    assert found.axis_label == "wavenumber [cm-1]"
    assert ngmca.identify(S, LIBRARY, axis=table, unit="nm").axis_label == "wavenumber [nm]"
    for wrong in (pd.DataFrame(np.ones((2, N))), table.add_prefix("x")):
        with pytest.raises(ValueError, match="columns are not positions: pass the positions"):
            ngmca.identify(S, LIBRARY, axis=wrong)


def test_a_library_without_numbers_says_so():
    nothing = {"empty": (FINE, np.full(len(FINE), np.nan))}
    with pytest.raises(ValueError, match=r"The first reason: empty has no numbers\."):
        ngmca.identify(S, nothing, axis=AXIS)


def test_a_bar_is_drawn_if_wanted(capsys):
    library = {name: LIBRARY[name] for name in NAMES}
    quiet = ngmca.identify(S, library, axis=AXIS, tolerance=20)
    assert not any(capsys.readouterr())
    shown = ngmca.identify(S, library, axis=AXIS, tolerance=20, progress=True)
    assert "comparing spectra" in capsys.readouterr().err
    assert shown.matches == quiet.matches
