"""The table of what cannot be combined: every pair of features is asked for, and it holds."""

import itertools
import warnings
from importlib import import_module

import dask.array as da
import numpy as np
import pytest
import zarr
from host_device import COMPILER, HostDevice, HostTransfers

import ngmca
from ngmca import rules
from ngmca._support.messages import ArgumentError, Option
from ngmca.algorithms import soft_and_hard
from ngmca.engines import opening
from ngmca.engines.gpu import engine as gpu_engine
from ngmca.task.methods import OWN_METHODS, method_with

counting = import_module("ngmca.answers.how_many.choose_rank")  # the function has the same name

M, R, SHAPE = 12, 3, (8, 8)
N = SHAPE[0] * SHAPE[1]
RNG = np.random.default_rng(0)
DECREASING = np.linspace(1, 0, M)[:, None]  # amounts of a source in any shape, 0 at the end
LEFT = 0.6 * np.exp(-0.3 * np.arange(M))[:, None]  # of a source that becomes another one
A = np.hstack([LEFT, DECREASING, 0.6 - LEFT])
S = 100 * np.exp(-0.5 * ((np.arange(N) - np.array([[12], [30], [50]])) / 3.0) ** 2)
S *= S > 1
Y = A @ S + 0.5 * RNG.standard_normal((M, N))
GAP = np.eye(M, N, k=3, dtype=bool)
ABSENT = (DECREASING == 0) & (np.arange(R) == 1)
SAMPLING = ngmca.Sampling(n_samples=4, burn=2)

# How each feature is asked for. Features that set the same word to different values exclude each other.
CONSTRAINTS = {
    "Baseline": ngmca.Baseline("polynomial"),
    "Closure": ngmca.Closure(),
    "KnownSources": ngmca.KnownSources(S[:1]),
    "KnownMixing": ngmca.KnownMixing(DECREASING, sources=[1]),
    "ZeroSources": ngmca.ZeroSources(S == 0),
    "ZeroMixing": ngmca.ZeroMixing(ABSENT),
    "Kinetics": ngmca.Kinetics("A -> B", start=[0.6, 0], sources=[0, 2]),
    "Unimodal": ngmca.Unimodal(),
    "Monotonic": ngmca.Monotonic("decreasing", sources=[1]),
    "Trilinear": ngmca.Trilinear(),
}
ASKED = {
    **{name: {"method": name} for name in ("soft", "hard", "naive", "anls", "gmca")},
    "rival": {"method": "hals"},
    "fista": {"solver": "fista"},
    "tau=0": {"tau": 0.0},
    "penalised A": {"penalised": "A"},
    "penalised both": {"penalised": "both"},
    "wavelet": {"domain": "wavelet"},
    "sample_shape": {"sample_shape": SHAPE},
    **{name: {name: record} for name, record in CONSTRAINTS.items()},
    "Closure with KnownSources": {name: CONSTRAINTS[name] for name in ("Closure", "KnownSources")},
    "known shape": {"KnownSources": ngmca.KnownSources(S[:1], "free")},
    "known channels": {"KnownSources": ngmca.KnownSources(np.where(np.arange(N) < 9, S[:1], np.nan))},
    "uncertain mixing": {"KnownMixing": ngmca.KnownMixing(DECREASING, sources=[1], sd=0.1)},
    "shapes of some sources": {"Unimodal": ngmca.Unimodal([1])},
    "robust": {"robust": True},
    "counts": {"noise": "poisson"},
    "noise": {"noise": 0.5},
    "noise of entries": {"noise": np.linspace(0.4, 0.6, M * N).reshape(M, N) ** 2},
    "noise of channels": {"noise": np.linspace(0.4, 0.6, N)[None]},
    "missing entries": {"missing": True},
    "mask": {"mask": GAP},
    "several": {"place": "several"},
    "techniques": {"shared": "mixing"},
    "one noise": {"shared": "mixing", "noise": 0.5},
    "curves of a baseline": {"Baseline": ngmca.Baseline(np.ones((1, N)))},
    "memory": {"place": "memory"},
    "disk": {"place": "disk"},
    "dask": {"place": "dask"},
    "gpu": {"device": "cuda"},
    "posterior": {"posterior": SAMPLING},
    "posterior in wavelets": {"posterior": SAMPLING, "domain": "wavelet"},
    "checkpoint": {"checkpoint": "run.npz"},
    "out": {"out": "S.zarr"},
    "start": {"start": (A, S)},
    "n_init": {"n_init": 2},
    "threads": {"threads": 2},
    "auto rank": {"door": "auto rank"},
    "known A": {"door": "known A"},
    "partial_fit": {"door": "partial_fit"},
}
INCLUDED = {
    "gmca": ("rival",),
    "Closure with KnownSources": ("Closure", "KnownSources"),
    "known channels": ("KnownSources",),
    "known shape": ("KnownSources",),
    "uncertain mixing": ("KnownMixing",),
    "shapes of some sources": ("Unimodal",),
    "one noise": ("techniques", "noise"),
    "curves of a baseline": ("Baseline",),
    "counts": ("noise",),
    "noise of entries": ("noise",),
    "noise of channels": ("noise",),
    "mask": ("missing entries",),
    "posterior in wavelets": ("posterior", "wavelet"),
    "known A": ("posterior",),
    "out": ("disk",),
}
TOGETHER = {  # two features that make a third one
    ("Closure", "KnownSources"): "Closure with KnownSources",
    ("posterior", "wavelet"): "posterior in wavelets",
    ("techniques", "noise"): "one noise",
    ("Monotonic", "auto rank"): "shapes of some sources",
}
METHOD = {"solver", "tau", "penalised"}
MODEL = {"domain", "sample_shape", "robust", "noise", "n_init", "posterior", "device"}
WORDS = {  # what each door can be asked for
    "separate": MODEL | {"mask", "checkpoint", "out", "start", "threads", "shared"},
    "auto rank": MODEL,
    "partial_fit": MODEL,
    "known A": {"domain", "noise", "mask", "threads"},
}


def request(one, other):
    """The words of two features, or None where they cannot be asked for together."""
    first, second = ASKED[one], ASKED[other]
    if any(first[word] is not second[word] for word in first.keys() & second.keys()):
        return None
    words = {"method": "soft", "door": "separate", "place": "memory"} | first | second
    own = METHOD & words.keys()
    if words["method"] not in OWN_METHODS and own:
        return None
    if own and words["method"] in OWN_METHODS:
        record = OWN_METHODS[words["method"]].__dataclass_fields__
        if not own <= record.keys():
            return None
    if words["place"] == "several" and (
        "shared" in words or words["door"] in ("auto rank", "partial_fit")
    ):
        return None
    if {"Unimodal", "Monotonic"} <= words.keys():
        words["Unimodal"] = ngmca.Unimodal([0])  # not the same source
    if "Trilinear" in words and {"separate", "memory"} <= {words["door"], words["place"]}:
        words["place"] = "memory" if "shared" in words else "several"  # it needs several data sets
    outside = words.keys() - own - CONSTRAINTS.keys() - {"method", "door", "place", "missing"}
    if words["door"] == "known A" and (own or words["method"] != "soft" or {"soft"} & {one, other}):
        return None
    if words["door"] == "known A" and words["place"] in rules.BLOCKS:
        return None  # `posterior` samples some columns of such data, and says so
    return words if outside <= WORDS[words["door"]] else None


def features(one, other, words):
    """All features that two of them bring along."""
    found = {one, other, words["place"]} | ({words["method"]} & rules.FEATURES.keys())
    for name in [*found]:
        found |= {*INCLUDED.get(name, ())}
    if found & {"gpu", "disk"}:
        found -= {"memory"}
    if "dask" in found:
        found -= {"disk"} if "disk" not in (one, other) else set()
    if words["door"] == "known A":
        found -= {"soft"}
    return found | {name for pair, name in TOGETHER.items() if found >= {*pair}}


def violated(found):
    """The rules that a set of features breaks."""
    return [
        rule
        for rule in rules.RULES
        if any(a != b and {a, b} <= found for a in rule.ones for b in rule.others)
    ]


PAIRS = [pair for pair in itertools.combinations(ASKED, 2) if request(*pair) is not None]


def data_of(words):
    """The data in their place."""
    given = np.where(GAP, np.nan, Y) if words.get("missing") else Y
    if words["place"] == "several":
        return [given[:6], given[6:]]
    if "shared" in words:
        cut = [given[:, :30], given[:, 30:]]
        return [data_of({"place": words["place"], "given": one}) for one in cut]
    given = words.get("given", given)
    if words["place"] == "dask":
        return da.from_array(given, chunks=(M, 32))
    return zarr.array(given) if words["place"] == "disk" else given


def run(words):
    """Factors, found through the door that was asked for."""
    data, door = data_of(words), words["door"]
    options = {name: words[name] for name in METHOD & words.keys()}
    if words["method"] in OWN_METHODS or words["method"] == "hals":
        options["n_iter"] = 3
    constraints = [record for name, record in CONSTRAINTS.items() if name in words]
    constraints = [words[type(record).__name__] for record in constraints]
    given = {"domain": "direct", "n_init": 1} | {k: v for k, v in words.items() if k in WORDS[door]}
    if words["place"] == "several" and "mask" in given:
        given["mask"] = [GAP[:6], GAP[6:]]
    if "shared" in words and "mask" in given:
        given["mask"] = [GAP[:, :30], GAP[:, 30:]]
    if door == "known A":
        del given["n_init"]
        own = {"n_samples": 4, "burn": 2, "seed": 0, "constraints": constraints}
        drawn = ngmca.posterior(data, None, A=A, **own, **given)
        return A, drawn.S.mean
    given |= {"method": method_with(words["method"], options), "constraints": constraints}
    if "start" in given:
        del given["n_init"]
        given |= {"n_init": words["n_init"]} if "n_init" in words else {}
    if words["method"] not in ("soft",) and words.get("domain") is None:
        del given["domain"]
    if door == "separate":
        found = ngmca.separate(data, R, **given)
        return found.A, np.asarray(found.S)
    model = ngmca.NGMCA("auto" if door == "auto rank" else R, **given)
    model.partial_fit(data) if door == "partial_fit" else model.fit(data)
    return model.transform(np.asarray(Y)), model.components_


CHOICES, SEARCH = {}, counting.choose_rank


def choose_rank(engine, *, noise, baseline, seed, threads=None):
    """A short search for each kind of data, once."""
    key = (str(noise), str(baseline), engine.weights is None)
    if key not in CHOICES:
        CHOICES[key] = SEARCH(engine, 3, noise=noise, baseline=baseline, seed=seed)
    return CHOICES[key]


@pytest.fixture(autouse=True)
def places(monkeypatch, tmp_path):
    """A GPU made of NumPy, little memory for data that can be sliced, a folder for files, few steps."""
    monkeypatch.setattr(soft_and_hard, "ITERATIONS_WITHOUT_THRESHOLDS", 3)
    monkeypatch.setattr(counting, "choose_rank", choose_rank)
    monkeypatch.setattr(opening, "open_device", HostDevice)
    monkeypatch.setattr(gpu_engine, "_transfers", HostTransfers)
    monkeypatch.setattr(opening, "memory_left", lambda: 4)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_features_work_together_or_the_table_says_why_not(one, other):
    words = request(one, other)
    found = features(one, other, words)
    broken = violated(found)
    if "gpu" in (one, other) and not broken and COMPILER is None:
        pytest.skip("the kernels need a C++ compiler")
    if broken:
        kinds = (ArgumentError, AttributeError) if words["door"] == "partial_fit" else ArgumentError
        with pytest.raises(kinds) as raised:
            run(words)
        text = f"{raised.value} {raised.value.__cause__ or ''}".lower()
        told = [rule for rule in broken if rule.reason.lower() in text]
        assert [rule for rule in told if str(rule.instead).lower() in text], text
        direct = rules.reason_against(one, other)
        assert direct is None or direct in told or len(broken) > 1
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error" if "posterior" not in found else "ignore")  # four samples are few
        mixing, sources = run(words)
    assert np.isfinite(mixing).all()
    assert np.isfinite(sources).all()
    if "gmca" not in (one, other):
        assert (mixing >= 0).all()
        assert (sources >= 0).all()


def test_every_pair_of_the_table_can_be_asked_for_or_not_at_all():
    """A rule that nobody can break would be a line too many in the documentation."""
    asked = {frozenset(pair) for pair in PAIRS}
    # of `posterior`, `quantify`, `ambiguity` and `align`
    elsewhere = {"columns", "standards", "responses", "library", "totals", "ambiguity", "align"}
    assert set(ASKED) | elsewhere == set(rules.FEATURES)
    for rule in rules.RULES:
        if elsewhere & {*rule.ones}:
            continue
        pairs = {frozenset(pair) for pair in itertools.product(rule.ones, rule.others)}
        assert pairs & asked, rule
        for name in (*rule.ones, *rule.others):
            assert any(name in pair for pair in pairs & asked), (name, rule)


def test_no_pair_is_in_the_table_twice():
    """The reason of a pair is one sentence, not two."""
    pairs = [
        frozenset(pair)
        for rule in rules.RULES
        for pair in itertools.product(rule.ones, rule.others)
        if len(set(pair)) == 2
    ]
    assert len(pairs) == len(set(pairs))


def test_an_error_names_both_and_says_what_to_do():
    with pytest.raises(ArgumentError) as raised:
        rules.check(rules.written(["posterior", "Kinetics"]))
    assert str(raised.value) == (
        "posterior=True cannot be combined with Kinetics: the sampler does not support this constraint. "
        "Leave out posterior."
    )
    assert raised.value.message.names[:2] == ("posterior", "Kinetics")
    assert rules.reason_against("Kinetics", "posterior") is rules.reason_against("posterior", "Kinetics")
    assert rules.reason_against("Closure", "robust") is None


def test_every_rule_is_written_for_people():
    for rule in rules.RULES:
        assert rule.reason[0].islower() or rule.reason.startswith(("A ", "S "))
        assert not rule.reason.endswith(".")
        assert rule.instead.endswith(".")
        for name in (*rule.ones, *rule.others):
            assert isinstance(rules.FEATURES[name], Option | str)
            assert str(rules.FEATURES[name]) in rules.markdown()
