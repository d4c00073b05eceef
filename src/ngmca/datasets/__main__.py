"""``python -m ngmca.datasets`` copies the sample files into the current folder, beside what is there."""

import shutil
from pathlib import Path

from ngmca.datasets import NAMES, path

if __name__ == "__main__":
    for name in NAMES:
        target = Path(path(name).name)
        if target.exists():
            print(f"{target} is kept: it is there already")
        else:
            shutil.copyfile(path(name), target)
            print(f"{target} is written")
