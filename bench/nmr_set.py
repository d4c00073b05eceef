"""How alike the default compounds are, and how hard their mixtures: `python bench/nmr_set.py`."""

import argparse
import itertools
import time

import numpy as np

from ngmca import simulate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--field", type=float, default=400.0, help="frequency of protons in MHz")
    parser.add_argument("--seeds", type=int, default=48)
    args = parser.parse_args()
    start = time.perf_counter()
    everything = simulate.nmr(compounds=simulate.compounds(), field=args.field)
    seconds = time.perf_counter() - start
    chosen = simulate.nmr(field=args.field)
    print(f"normalised scalar products in percent, {args.field:g} MHz, {chosen.axis.size} samples")
    show(chosen)
    print("\npairs of the whole library above 0.5")
    for product, a, b in sorted(alike(everything, 0.5), reverse=True):
        both = "" if {a, b} <= set(chosen.names) else "  (not both in the default set)"
        print(f"  {product:.2f}  {a}, {b}{both}")
    for m in (15, 30, 90):
        raw, unit = zip(*(conditioning(m, seed) for seed in range(args.seeds)), strict=True)
        print(
            f"cond(A'A) at m = {m}: median {np.median(raw):.2g} over {args.seeds} seeds, "
            f"quartiles {np.quantile(raw, 0.25):.2g} and {np.quantile(raw, 0.75):.2g}; "
            f"with unit columns {np.median(unit):.2g}"
        )
    print(f"{len(everything.names)} compounds simulated in {seconds:.1f} s")


def show(data: simulate.Mixture) -> None:
    products = np.rint(100 * data.S @ data.S.T).astype(int)
    for i, (name, row) in enumerate(zip(data.names, products, strict=True)):
        print(f"{i + 1:2} {name:21}" + "".join(f"{value:4}" for value in row[: i + 1]))
    print(" " * 24 + "".join(f"{i + 1:4}" for i in range(len(products))))


def alike(data: simulate.Mixture, limit: float) -> list[tuple[float, str, str]]:
    products = data.S @ data.S.T
    pairs = itertools.combinations(range(len(products)), 2)
    return [(products[i, j], data.names[i], data.names[j]) for i, j in pairs if products[i, j] > limit]


def conditioning(m: int, seed: int) -> tuple[float, float]:
    A = simulate.nmr(m=m, seed=seed).A
    unit = A / np.linalg.norm(A, axis=0)
    return float(np.linalg.cond(A.T @ A)), float(np.linalg.cond(unit.T @ unit))


if __name__ == "__main__":
    main()
