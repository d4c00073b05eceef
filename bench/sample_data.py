"""Write the files of `ngmca.datasets` from their formulas: `python bench/sample_data.py`."""

import numpy as np

from ngmca import datasets

NOISE = 0.01


def table(name: str) -> str:
    """The text of a file: clean data with white noise of a fixed seed."""
    rng = np.random.default_rng(datasets.NAMES.index(name))
    if name == "reaction":
        A, S, axis, rows = datasets.reaction_formulas()
        clean, head, unit = A @ S, "time (min)", "nm"
    else:
        A, S, axis, B = datasets.mixtures_formulas()
        clean, head, unit, rows = (
            A @ S + B,
            "sample",
            "cm-1",
            [f"mixture {i + 1}" for i in range(len(A))],
        )
    Y = clean + NOISE * rng.standard_normal(clean.shape)
    lines = [",".join([head, *(f"{x:g} {unit}" for x in axis)])]
    names = [x if isinstance(x, str) else f"{x:g}" for x in rows]
    lines += [
        ",".join([name, *(f"{value:.4f}" for value in row)]) for name, row in zip(names, Y, strict=True)
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for name in datasets.NAMES:
        datasets.path(name).write_text(table(name))
        print(datasets.path(name).name)
