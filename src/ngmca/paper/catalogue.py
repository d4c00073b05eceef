"""All experiments: those of the paper by its labels, and those that go beyond it."""

from ngmca.paper import application, beyond, noiseless, noisy
from ngmca.paper.experiments import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.label: experiment
    for chapter in (noiseless, noisy, application, beyond)
    for experiment in chapter.EXPERIMENTS
}
BEYOND = frozenset(experiment.label for experiment in beyond.EXPERIMENTS)
