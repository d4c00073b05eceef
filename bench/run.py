"""Speed side by side: `make bench`, or `python bench/run.py [SECTION ...]`.

Every figure is a ratio of times taken in turns in one run, with BLAS on one thread unless said. Results
are compared with those of `bench/results.json`, which `--write` replaces.
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import sys
from pathlib import Path

import machine
import sections
from rich.console import Console
from rich.table import Table
from timing import Row

RESULTS = Path(__file__).with_name("results.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections.ALL))
    parser.add_argument("--write", action="store_true", help="replace bench/results.json")
    args = parser.parse_args()
    unknown = set(args.sections) - set(sections.ALL)
    if unknown:
        parser.error(f"no such section: {', '.join(unknown)}; there are {', '.join(sections.ALL)}")
    console = Console(width=110)
    here = machine.describe()
    console.print(
        f"{here['processor']}, {here['cores']} cores, load {here['load']}, Python {here['python']}"
    )
    console.print(", ".join(f"{k} {v}" for k, v in here["versions"].items()), highlight=False)  # type: ignore[attr-defined]
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"figures": {}}
    figures: dict[str, dict[str, float]] = {}
    missed = 0
    for section in args.sections or list(sections.ALL):
        title, run = sections.ALL[section]
        rows = run()
        console.print(_table(title, rows, before["figures"].get(section, {})))
        figures[section] = {row.name: round(row.value, 4) for row in rows}
        missed += sum(row.met is False for row in rows)
    console.print(f"{missed} figure(s) on the wrong side of their limit")
    if args.write:
        RESULTS.write_text(
            json.dumps({"machine": here, "figures": before["figures"] | figures}, indent=1) + "\n"
        )
    return 0


def _table(title: str, rows: list[Row], before: dict[str, float]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("", "measured", "limit", "", "recorded", "note"):
        table.add_column(heading, justify="right" if heading in ("measured", "recorded") else "left")
    for row in rows:
        verdict = {None: "", True: "ok", False: "[red]missed[/]"}[row.met]
        last = f"{before[row.name]:.2f}" if row.name in before else ""
        table.add_row(row.name, f"{row.value:.2f}", row.limit, verdict, last, row.note)
    return table


if __name__ == "__main__":
    sys.exit(main())
