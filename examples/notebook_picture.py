"""Write the HTML that a notebook shows of a separation: `python examples/notebook_picture.py FILE.html`.

docs/pictures/notebook.png is this page in a browser.
"""

import sys
from pathlib import Path

import ngmca


def main() -> None:
    mixture = ngmca.simulate.spectra(m=30, n=400, r=3, snr=25, seed=0)
    found = ngmca.separate(mixture.Y, 3)
    style = (
        "<meta charset=utf-8><style>body{font:13px sans-serif;margin:12px}table{margin:6px 0}</style>"
    )
    Path(sys.argv[1]).write_text(style + found._repr_html_(), encoding="utf-8")


if __name__ == "__main__":
    main()
