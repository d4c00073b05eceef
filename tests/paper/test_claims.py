"""Verdicts: made-up tables with a known answer, and the claims of the catalogue."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ngmca.paper import EXPERIMENTS, claims, standing
from ngmca.paper.claims import FAILS, HOLDS, UNDECIDED, Claim, Comparison
from ngmca.paper.methods import METHODS
from ngmca.paper.standing import Result

LABELS = [
    "r_a80n00",
    "oscillations",
    "Aalpha_r35a80",
    "tab:conditioning",
    "soft-hard",
    "correlationBias",
    "biasedSources",
    "noise_a10r15",
    "noise_a10r15_oracle",
    "noise_a30r15",
    "noise_a50r15",
    "m_a30n03r15",
    "r_15dBa30",
    "modelAndInit",
    "NMRspectra",
    "appli_mixture",
    "noise_application",
    "appli_reconstruction_example",
    "m_application",
]


def table(leads, *, sims=12, spread=1.0, seed=0):
    """Method b is b's lead above a at each x, on data that vary far more than the lead does."""
    rng = np.random.default_rng(seed)
    rows = []
    for x, lead in leads.items():
        for sim in range(sims):
            data = 20 * rng.standard_normal()
            rows.append({"x": x, "sim": sim, "method": "a", "sdr": data})
            noise = spread * rng.standard_normal()
            rows.append({"x": x, "sim": sim, "method": "b", "sdr": data + lead + noise})
    return pd.DataFrame(rows).sample(frac=1, random_state=0)  # the order of rows means nothing


def verdict(check, made, **options):
    return Claim("", "", check, **options).judge(made, "x").verdict


def test_an_interval_is_students():
    values = np.random.default_rng(1).normal(3, 2, 17)
    found = claims.interval(Comparison("", values))
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    np.testing.assert_allclose((found.low, found.high), expected)
    together = claims.interval(Comparison("", values), family=10)
    wider = stats.ttest_1samp(values, 0).confidence_interval(0.995)
    reach = together.wide * together.half
    np.testing.assert_allclose((together.mean - reach, together.mean + reach), wider)
    assert together.low == found.low


def test_to_hold_each_interval_counts_to_fail_all_of_them_together():
    """A lead, or a lag, that is clear for one comparison and not beyond chance for the worst of 20."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    values = 1.2 * (values - values.mean()) / values.std(ddof=1) + 2.0
    lead, lag = (Comparison("", sign * values, above=0.0) for sign in (1, -1))
    alone = [claims.interval(one).verdict for one in (lead, lag)]
    among = [claims.interval(one, family=20).verdict for one in (lead, lag)]
    assert alone == [HOLDS, FAILS]
    assert among == [HOLDS, UNDECIDED]


def test_one_simulation_decides_nothing():
    assert verdict(claims.ahead("b", ("a",)), table({1: 50.0}, sims=1)) == UNDECIDED


def test_pairs_are_compared_on_the_same_data():
    # 20 dB of spread between data sets would hide 2 dB if the pairs were broken.
    assert verdict(claims.ahead("b", ("a",)), table({1: 2.0, 2: 2.0})) == HOLDS
    assert verdict(claims.ahead("a", ("b",)), table({1: 2.0, 2: 2.0})) == FAILS


@pytest.mark.parametrize(
    ("leads", "all_verdict", "most_verdict"),
    [
        ({1: 3, 2: 3, 3: 3}, HOLDS, HOLDS),
        ({1: 3, 2: 3, 3: -3}, FAILS, HOLDS),
        ({1: 3, 2: 3, 3: 0}, UNDECIDED, HOLDS),
        ({1: 3, 2: -3, 3: -3}, FAILS, FAILS),
        ({1: 3, 2: 0, 3: 0}, UNDECIDED, UNDECIDED),
    ],
)
def test_all_and_most(leads, all_verdict, most_verdict):
    made = table(leads)
    assert verdict(claims.ahead("b", ("a",)), made) == all_verdict
    assert verdict(claims.ahead("b", ("a",)), made, most=True) == most_verdict


def test_only_the_values_that_a_claim_is_about():
    made = table({1: -3, 2: 3})
    assert verdict(claims.ahead("b", ("a",), at=(2,)), made) == HOLDS
    assert verdict(claims.ahead("b", ("a",), at=(7,)), made) == UNDECIDED


def test_a_value_that_is_missing_leaves_a_claim_about_all_undecided():
    made = table({1: 3, 2: 3})
    made.attrs["values"] = (1, 2, 3)
    assert verdict(claims.ahead("b", ("a",)), made) == UNDECIDED
    assert verdict(claims.ahead("b", ("a",), at=(1, 2)), made) == HOLDS


def test_most_settings_are_settings_and_not_comparisons():
    """One rival ahead at every value: no setting is won, though most comparisons are."""
    made = table({1: 3, 2: 3, 3: 3})
    ahead = made[made["method"] == "b"].assign(method="c", sdr=lambda rows: rows["sdr"] + 9)
    low = made[made["method"] == "a"].assign(method="d")
    made = pd.concat([made, ahead, low])
    assert verdict(claims.ahead("b", ("a", "c", "d")), made, most=True) == FAILS


def test_intervals_of_joined_checks_hold_together():
    made = table({1: 3, 2: 3})
    joined = claims.together(claims.ahead("b", ("a",)), claims.close("b", "a", within=9.0))
    found = Claim("", "", joined).judge(made, "x")
    assert found.verdict == HOLDS
    alone = Claim("", "", claims.ahead("b", ("a",))).judge(made, "x")
    assert found.evidence[0].wide > alone.evidence[0].wide > 1


def test_what_chance_is_not_in_is_exact():
    assert verdict(lambda table, varies: [claims.exactly("", 0.0, above=0.0)], None) == FAILS
    assert verdict(lambda table, varies: [claims.exactly("", 0.1, above=0.0)], None) == HOLDS


@pytest.mark.parametrize(("lead", "expected"), [(0.0, HOLDS), (3.0, FAILS), (1.0, UNDECIDED)])
def test_close(lead, expected):
    assert verdict(claims.close("b", "a", within=1.0), table({1: lead}, spread=0.2)) == expected


@pytest.mark.parametrize(
    ("lead", "expected"), [(4.0, HOLDS), (8.0, FAILS), (1.0, FAILS), (5.0, UNDECIDED)]
)
def test_lead_between(lead, expected):
    check = claims.lead_between("b", ("a",), 3.0, 5.0)
    assert verdict(check, table({1: lead}, spread=0.2)) == expected


def test_falls_looks_from_the_first_value_to_the_last():
    made = table({1: 0, 2: 0, 3: 0})
    made["sdr"] = -10 * made["x"] + np.random.default_rng(0).standard_normal(len(made))
    assert verdict(claims.falls(("a", "b")), made) == HOLDS
    assert verdict(claims.falls(("a", "b"), rises=True), made) == FAILS


def test_a_printed_number_is_met_within_its_share():
    made = table({1: 0})
    made["cond"] = 10.2 + 0.01 * np.random.default_rng(0).standard_normal(len(made))
    assert verdict(claims.printed({1: 10.0}, measure="cond", within=0.03), made) == HOLDS
    assert verdict(claims.printed({1: 10.0}, measure="cond", within=0.01), made) == FAILS


def test_verdicts_are_right_as_often_as_they_say():
    """Without any difference a claim about 4 comparisons fails in 2.5 % of cases, and never holds."""
    verdicts = []
    for seed in range(200):
        made = table(dict.fromkeys((1, 2, 3, 4), 0.0), seed=seed, sims=6)
        verdicts.append(verdict(claims.ahead("b", ("a",)), made))
    assert 0.005 < verdicts.count(FAILS) / 200 < 0.05
    assert verdicts.count(HOLDS) == 0


def test_a_claim_with_one_tie_hardly_ever_holds():
    """Three clear leads and one tie: it may hold by chance in 2.5 % of all cases."""
    made = [table({1: 9.0, 2: 9.0, 3: 9.0, 4: 0.0}, seed=seed, sims=6) for seed in range(200)]
    held = [verdict(claims.ahead("b", ("a",)), one) for one in made].count(HOLDS)
    assert 0.005 < held / 200 < 0.05


def test_the_catalogue_has_every_figure_and_the_table():
    assert list(EXPERIMENTS)[: len(LABELS)] == LABELS


def test_settings_are_those_of_the_text():
    sims = {
        "r_a80n00": 48,
        "Aalpha_r35a80": 48,
        "tab:conditioning": 48,
        "noise_a10r15": 192,
        "noise_a30r15": 192,
        "noise_a50r15": 192,
        "m_a30n03r15": 72,
        "r_15dBa30": 48,
        "modelAndInit": 192,
        "noise_application": 96,
        "m_application": 36,
    }
    assert {label: EXPERIMENTS[label].study.sims for label in sims} == sims
    tau = {label: EXPERIMENTS[label].study.tau for label in sims}
    assert [tau[x] for x in ("r_a80n00", "noise_a10r15", "m_application")] == [0, 1, 2]
    active = {label: EXPERIMENTS[label].study.fixed.get("p_S") for label in sims}
    assert [active[x] for x in list(sims)[:7]] == [0.8, 0.8, None, 0.1, 0.3, 0.5, 0.3]
    counts = {"soft": "80 sub", "hals": "5,000", "multiplicative": "40,000", "als": "500 it"}
    assert all(words in METHODS[name].settings for name, words in counts.items())


def test_tables_have_names_of_their_own():
    parts = standing.sources(EXPERIMENTS.values())
    assert len({part.name for part in parts}) == len(parts)


@pytest.mark.parametrize("label", LABELS)
def test_declarations_are_whole(label):
    experiment = EXPERIMENTS[label]
    assert experiment.study or experiment.example
    assert experiment.claims
    for claim in experiment.claims:
        assert re.search(r"Sec\. (IV|V)|Table", claim.place)
    if experiment.study:
        assert set(experiment.study.methods) <= set(METHODS)


def _made_up(study, seed):
    """Random results for all methods of a study, in all of its columns."""
    rng = np.random.default_rng(seed)
    columns = (
        "sdr sir cond cost rises leak_worst leak_median offset_worst log_cond noise_ratio peaks idle"
    )
    return pd.DataFrame(
        {study.varies: x, "sim": sim, "method": method}
        | {name: rng.uniform(-1e3, 1e3) for name in columns.split()}
        for x in study.values
        for sim in range(12)
        for method in study.methods
    )


STUDIED = [(label, i) for label in LABELS for i in range(len(EXPERIMENTS[label].claims))]
STUDIED = [(label, i) for label, i in STUDIED if EXPERIMENTS[label].study]


@pytest.mark.parametrize(("label", "i"), STUDIED)
def test_no_claim_holds_for_random_results(label, i):
    experiment = EXPERIMENTS[label]
    made = [_made_up(experiment.study, seed) for seed in range(3)]
    verdicts = [Result(experiment, one, None).judge(experiment.claims[i]).verdict for one in made]
    assert verdicts.count(HOLDS) < 2
