"""All experiments: those of the paper by its labels, those that go beyond it, those of its sequel."""

from ngmca.paper import application, beyond, noiseless, noisy, sequel
from ngmca.paper.experiments import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.label: experiment
    for chapter in (noiseless, noisy, application, beyond, sequel)
    for experiment in chapter.EXPERIMENTS
}
BEYOND = frozenset(experiment.label for experiment in beyond.EXPERIMENTS)
SEQUEL = frozenset(experiment.label for experiment in sequel.EXPERIMENTS)


def full(experiment: Experiment) -> str:
    """Return a text with the number of simulations of `--full`."""
    sims = experiment.study.sims if experiment.study else None
    if sims is None:
        return "one example in the paper"
    return f"{sims} with --full" if experiment.label in BEYOND | SEQUEL else f"{sims} in the paper"
