"""All experiments, by the labels of the paper."""

from ngmca.paper import application, noiseless, noisy
from ngmca.paper.experiments import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    experiment.label: experiment
    for chapter in (noiseless, noisy, application)
    for experiment in chapter.EXPERIMENTS
}
