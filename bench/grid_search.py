"""How often GridSearchCV finds the number of sources by `NGMCA.score`: `python bench/grid_search.py [--seeds 10]`.

Rows are mixtures of three or five sources. Each is separated into one to seven sources on four fifths of its
measurements, and scored on the rest. Beside it stands the number that `ngmca.choose_rank` finds.
"""

import argparse
import os
import warnings

os.environ["OPENBLAS_NUM_THREADS"] = "1"

from sklearn.model_selection import GridSearchCV, KFold

import ngmca

CASES = {
    "sparse, 3 sources, 20 dB": lambda seed: ngmca.simulate.sparse(m=30, n=150, r=3, snr=20, seed=seed),
    "sparse, 5 sources, 15 dB": lambda seed: ngmca.simulate.sparse(m=40, n=200, r=5, snr=15, seed=seed),
    "lines, 3 sources, 20 dB": lambda seed: ngmca.simulate.spectra(m=30, n=300, r=3, snr=20, seed=seed),
    "lines, 3 sources, 5 dB": lambda seed: ngmca.simulate.spectra(m=30, n=300, r=3, snr=5, seed=seed),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    for name, draw in CASES.items():
        found, counted = [], []
        for seed in range(seeds):
            mixture = draw(seed)
            model = ngmca.NGMCA(n_init=1, constraints=[], domain="direct")
            cv = KFold(5, shuffle=True, random_state=0)
            search = GridSearchCV(model, {"n_components": range(1, 8)}, cv=cv, refit=False)
            found.append(search.fit(mixture.Y).best_params_["n_components"])
            counted.append(ngmca.choose_rank(mixture.Y, 7, seed=0).rank)
        r = len(mixture.S)
        right = [sum(one == r for one in each) for each in (found, counted)]
        print(
            f"{name:26}  search {right[0]:2d} of {seeds}  {found}   choose_rank {right[1]:2d}  {counted}",
            flush=True,
        )


if __name__ == "__main__":
    main()
