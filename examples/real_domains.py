"""The real data sets of docs/tutorials/real-data.md channel by channel and as lines and bands.

`python examples/real_domains.py FOLDER` draws one picture each into FOLDER. The files come out of
packages, which `tests/real_data.py` downloads once.
"""

import sys
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

import ngmca

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import real_data  # type: ignore[import-not-found]

GREY, RED = "#9aa0a6", "#c5221f"


def sets() -> dict[str, tuple[Any, int, dict[str, Any]]]:
    """Data, number of sources and options of each set."""
    cobalt = real_data.jcamp_files() / "blckpac1.jdx"
    return {
        "reaction": (ngmca.io.read(real_data.nmr() / "bruker2", nucleus="31P"), 3, {}),
        "pines": (ngmca.io.read(real_data.pines()), 5, {}),
        "microscope": (ngmca.io.read(real_data.electron_microscope()), 2, {"noise": 0.23}),
        "aquation": (ngmca.io.read(cobalt), 2, {}),
    }


def compare(data: Any, r: int, options: dict[str, Any]) -> tuple[ngmca.Separation, ngmca.Separation]:
    """Both separations; a line about each is printed."""
    found = []
    for domain in ("direct", "auto"):
        begun = time.perf_counter()
        one = ngmca.separate(data, r, domain=domain, **options)
        seconds = time.perf_counter() - begun
        left = float(((data.Y - one.A @ one.S) ** 2).sum() / (data.Y.astype(float) ** 2).sum())
        print(f"  {domain:7} {one.domain.name:8} {seconds:6.1f} s, {left:.3%} left over")
        found.append(one)
    print(f"  {found[1].domain.why}")
    return found[0], found[1]


def draw(data: Any, direct: ngmca.Separation, auto: ngmca.Separation, path: Path) -> None:
    """Every source of both, each over its maximum."""
    order = ngmca.evaluate(direct.S, auto.S).order
    fig, axes = plt.subplots(len(direct.S), 1, figsize=(9, 1.7 * len(direct.S)), sharex=True)
    for i, ax in enumerate(axes):
        both = ((direct.S[i], GREY, "direct"), (auto.S[order[i]], RED, auto.domain.name))
        for values, colour, label in both:
            ax.plot(data.positions, values / (values.max() or 1), color=colour, lw=0.9, label=label)
        ax.set_ylabel(f"source {i + 1}")
        ax.set_yticks([])
    if data.axis_unit in ("ppm", "cm-1"):
        axes[-1].invert_xaxis()
    axes[0].legend(loc="upper right", frameon=False, ncols=2)
    axes[-1].set_xlabel(data.axis_label)
    fig.tight_layout()
    fig.savefig(path, dpi=110)
    plt.close(fig)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for name, (data, r, options) in sets().items():
        print(f"{name}: {data.Y.shape[0]} x {data.Y.shape[1]}, {r} sources")
        direct, auto = compare(data, r, options)
        draw(data, direct, auto, folder / f"{name}_domains.png")


if __name__ == "__main__":
    main()
