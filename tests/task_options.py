"""Arguments of `separate` from one flat set of words, for tests that go through many combinations."""

import ngmca

METHODS = {"soft": ngmca.Soft, "hard": ngmca.Hard, "naive": ngmca.Naive, "anls": ngmca.Anls}
OF_METHODS = ("tau", "n_iter", "refinement", "bounded", "solver", "max_sub_iter", "tol", "penalised")


def records(method="soft", n_init=1, **words):
    """Keyword arguments of `separate`: options of the method and constraints become records.

    One start, unless another number is given: five starts of every test would take five times as long.
    """
    if isinstance(method, str) and (method in METHODS or method in ngmca.rivals.METHODS):
        own = {name: words.pop(name) for name in OF_METHODS if name in words}
        if method in ("soft", "anls") and "max_sub_iter" in own:
            own["solver"] = ngmca.Fista(own.pop("max_sub_iter"))
        method = METHODS[method](**own) if method in METHODS else ngmca.Rival(method, **own)
    constraints = [*words.pop("constraints", ()), *_constraints(words)]
    found = {"method": method, "n_init": n_init}
    found |= {"constraints": constraints} if constraints else {}
    return found | _checkpoint(words) | words


def _constraints(words):
    """The constraints among the words, which are taken out."""
    scale = words.pop("known_scale", "fixed")
    kinds = {
        "known_sources": lambda spectra: ngmca.KnownSources(spectra, scale),
        "known_mixing": ngmca.KnownMixing,
        "zero_sources": ngmca.ZeroSources,
        "zero_mixing": ngmca.ZeroMixing,
        "closure": lambda totals: ngmca.Closure(1.0 if totals is True else totals),
        "baseline": ngmca.Baseline,
    }
    for name, kind in kinds.items():
        if words.get(name) is not None:
            yield kind(words[name])
        words.pop(name, None)
    profiles = words.pop("profiles", None)
    if isinstance(profiles, str):
        yield _profile(profiles)
    elif profiles is not None:
        yield from (_profile(shape, [k]) for k, shape in enumerate(profiles) if shape)


def _profile(shape, sources=None):
    return ngmca.Unimodal(sources) if shape == "unimodal" else ngmca.Monotonic(shape, sources)


def _checkpoint(words):
    """The checkpoint among the words, which are taken out."""
    resume = words.pop("resume", None)
    path = words.pop("checkpoint", None) or resume
    every, minutes = words.pop("checkpoint_every", None), words.pop("checkpoint_minutes", 1.0)
    if path is None:
        return {}
    return {"checkpoint": ngmca.Checkpoint(path, every, minutes, resume=resume is not None)}
