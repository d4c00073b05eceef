"""Check what a release would ship: `make release-check`.

Builds sdist and wheel, checks their metadata, and installs the wheel into empty environments: with the
oldest dependencies that pyproject.toml allows on the oldest Python, and with the newest ones on every
Python that is found here. In each, the command separates a table and writes a report, and Python finds
the same sources.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TYPICAL = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "PIP_CERT", "PIP_INDEX_URL", "PIP_FIND_LINKS")
PROGRAM = """
import json, sys, numpy as np, ngmca
data = ngmca.io.read("reaction.csv")
found = ngmca.separate(data, 3)
kept = ngmca.load("result")
assert np.array_equal(found.S, kept.S), "Python and the command differ"
true = ngmca.datasets.reaction()
print(json.dumps({"sdr": ngmca.evaluate(true.S, found.S).mean_sdr, "version": ngmca.__version__}))
"""


def run(*command: str | Path, cwd: Path = ROOT, python: Path | None = None) -> str:
    """Run a command without the variables of this shell; return its output, or end with it."""
    kept = {name: os.environ[name] for name in TYPICAL if name in os.environ}
    if python is not None:
        kept["PATH"] = f"{python.parent}{os.pathsep}{kept['PATH']}"
    done = subprocess.run(
        [*map(str, command)], cwd=cwd, env=kept, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def interpreter(version: str) -> str | None:
    """Return the path of a Python that starts, or None."""
    path = shutil.which(f"python{version}")
    if path is None or subprocess.run([path, "--version"], capture_output=True, check=False).returncode:
        return None
    return path


def oldest(folder: Path) -> Path:
    """Write the oldest version of every dependency, as constraints for pip."""
    lines = [re.sub(r"\s*>=\s*", "==", one) for one in PROJECT["dependencies"]]
    path = folder / "oldest.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def check_recipe() -> None:
    """End with an error if the recipe for conda has other dependencies than the package."""
    recipe = (ROOT / ".ci" / "conda-recipe.yaml").read_text()
    lines = re.findall(r"- (.*)", recipe.partition("  run:\n")[2].partition("\ntests:")[0])
    listed = {line.replace(" ", "") for line in lines} - {"python>=${{python_min}}"}
    own = {one.replace(" ", "") for one in PROJECT["dependencies"]}
    if listed != own:
        sys.exit(f".ci/conda-recipe.yaml and pyproject.toml differ: {', '.join(sorted(listed ^ own))}")


def built(folder: Path) -> Path:
    """Build sdist and wheel, check them, and return the wheel."""
    run(sys.executable, "-m", "build", "--outdir", folder)
    archives = [*folder.glob("*.tar.gz"), *folder.glob("*.whl")]
    run(sys.executable, "-m", "twine", "check", "--strict", *archives)
    print(f"built and checked: {', '.join(path.name for path in archives)}")
    return next(folder.glob("*.whl"))


def tried(python: str, wheel: Path, folder: Path, constraints: Path | None) -> str:
    """Install the wheel into an empty environment, separate the sample there, and say what came out."""
    place = Path(tempfile.mkdtemp(dir=folder))
    run(python, "-m", "venv", place / "env")
    inside = place / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    held = [] if constraints is None else ["--constraint", constraints]
    run(inside, "-m", "pip", "install", "--quiet", *held, wheel)
    run(inside, "-m", "pip", "check")
    run(inside, "-m", "ngmca.datasets", cwd=place)
    run(inside, "-m", "ngmca", "separate", "reaction.csv", "-r", "3", "-o", "result", cwd=place)
    assert (place / "result" / "report.html").stat().st_size > 100_000
    run("ngmca", "--version", cwd=place, python=inside)
    told = json.loads(run(inside, "-c", PROGRAM, cwd=place))
    assert told["sdr"] > 20, told
    freeze = run(inside, "-m", "pip", "freeze")
    versions = ", ".join(re.findall(r"^((?:numpy|scipy|numba|plotly)==\S+)", freeze, re.MULTILINE))
    shutil.rmtree(place)
    return f"SDR {told['sdr']:.1f} dB with {versions}"


def main() -> None:
    """Build, check, and try."""
    check_recipe()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = built(folder)
        found = [(one, path) for one in PYTHONS if (path := interpreter(one))]
        missing = sorted(set(PYTHONS) - {one for one, _ in found})
        if not found or found[0][0] != PYTHONS[0]:
            sys.exit(f"python{PYTHONS[0]}, the oldest that is supported, is not here: install it.")
        print("oldest, Python", PYTHONS[0], tried(found[0][1], wheel, folder, oldest(folder)), sep=": ")
        for version, path in found:
            print("newest, Python", version, tried(path, wheel, folder, None), sep=": ", flush=True)
        if missing:
            print(f"not tried, because it is not installed here: Python {', '.join(missing)}")


if __name__ == "__main__":
    main()
