"""Time of several starts one after the other over that of as many at the same time.

    python bench/starts.py [--repeats 9]

The two take turns; the ratio is that of the fastest of each. On a busy machine, whose cores are not
there to be used, it says nothing: look at the load before.
"""

import argparse
import os
import time

import ngmca

STARTS = 4
DATA = {
    "40 x 1,024, 5 sources": lambda: (ngmca.simulate.sparse(40, 1024, 5, snr=20, seed=0).Y, 5),
    "200 x 200, 15 sources": lambda: (ngmca.simulate.sparse(200, 200, 15, snr=20, seed=0).Y, 15),
    "40 x 1,024, 5 sources of bands": lambda: (ngmca.simulate.bands(40, 1024, 5, seed=0).Y, 5),
    "200 x 2,000, 8 sources": lambda: (ngmca.simulate.sparse(200, 2000, 8, snr=20, seed=0).Y, 8),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    repeats = parser.parse_args().repeats
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {STARTS} starts\n")
    print("| data | one after the other, s | at the same time, s | ratio |\n|---|---|---|---|")
    for name, make in DATA.items():
        Y, r = make()
        seconds(Y, r, 1)  # compiled, and in the caches
        both = [(seconds(Y, r, 1), seconds(Y, r, None)) for _ in range(repeats)]
        alone, together = map(min, zip(*both, strict=True))
        print(f"| {name} | {alone:.3f} | {together:.3f} | {alone / together:.2f} |", flush=True)


def seconds(Y: object, r: int, threads: int | None) -> float:
    begun = time.perf_counter()
    ngmca.separate(Y, r, n_init=STARTS, seed=0, threads=threads)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
