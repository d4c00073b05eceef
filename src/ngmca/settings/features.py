"""What settings ask for, in the words of the table of rules, before any file is read."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

from ngmca import rules
from ngmca._support.messages import Option
from ngmca.domains import backgrounds
from ngmca.settings.settings import AUTO, Settings
from ngmca.task.methods import OWN_METHODS

_DEFAULTS: dict[str, Any] = {one.name: one.default for one in fields(Settings)}


def features_of(settings: Settings) -> dict[str, Option | str]:
    """Return the features of the settings, each with the way in which it is written."""
    return rules.written(_names(settings))


def conflict(settings: Settings, name: str, value: Any) -> rules.Rule | None:
    """Return the rule against another value of one setting, or None if it goes with the others."""
    before = features_of(replace(settings, **{name: _DEFAULTS[name]}))
    after = features_of(replace(settings, **{name: value}))
    for new in after.keys() - before.keys():
        for other in after.keys() - {new}:
            rule = rules.reason_against(new, other)
            if rule is not None:
                return rule
    return None


def _names(settings: Settings) -> Iterator[str]:
    yield from _of_method(settings)
    yield from _of_knowledge(settings)
    present = {
        "align": settings.align,
        "robust": settings.robust,
        "counts": settings.noise == "poisson",
        "one noise": settings.noise is not None,
        "techniques": settings.shared == "mixing",
        "gpu": settings.device == "cuda",
        "posterior": settings.posterior,
        "ambiguity": settings.ambiguity,
        "auto rank": settings.sources == AUTO,
        "library": settings.library is not None,
        "standards": settings.standards is not None,
        "responses": settings.responses is not None,
    }
    yield from (name for name, given in present.items() if given)


def _of_method(settings: Settings) -> Iterator[str]:
    if settings.method not in OWN_METHODS:
        yield "rival"
    if settings.method in rules.FEATURES:
        yield settings.method
    if settings.tau == 0:
        yield "tau=0"
    if settings.penalised in ("A", "both"):
        yield f"penalised {settings.penalised}"
    if settings.domain == "wavelet":
        yield "wavelet"


def _of_knowledge(settings: Settings) -> Iterator[str]:
    if settings.known_sources is not None:
        yield "KnownSources"
        if settings.known_scale == "free":
            yield "known shape"
        elif settings.closure is not None:
            yield "Closure with KnownSources"
    if settings.known_mixing is not None:
        yield "KnownMixing"
        if settings.known_mixing_sd is not None:
            yield "uncertain mixing"
    if settings.closure is not None:
        yield "Closure"
    if settings.kinetics is not None:
        yield "Kinetics"
    if settings.profiles is not None:
        yield "Unimodal" if settings.profiles == "unimodal" else "Monotonic"
    if settings.trilinear:
        yield "Trilinear"
    if settings.baseline in backgrounds.KINDS or "baseline" in settings.files:
        yield "Baseline"
    if "baseline" in settings.files:
        yield "curves of a baseline"
