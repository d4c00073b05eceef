"""The site: `make docs`."""

from pathlib import Path

import ngmca

project = "ngmca"
author = "the ngmca developers"
project_copyright = "the ngmca developers"
release = ngmca.__version__
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "reproduction", "gallery/*.ipynb"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
suppress_warnings = ["config.cache", "misc.highlighting_failure"]
sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).parent.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "abort_on_example_error": True,
    "min_reported_time": 1,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
}
smartquotes = False  # -- is the beginning of an option
html_theme = "pydata_sphinx_theme"
html_title = "ngmca"
html_show_sourcelink = False
html_extra_path = ["reproduction/report.html"]
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "header_links_before_dropdown": 8,
}
html_sidebars = {"index": []}


def setup(app):
    """Bars of norms in docstrings are bars, and no substitutions."""

    def plain_bars(app, what, name, obj, options, lines):
        lines[:] = [line if "\\|" in line else line.replace("|", "\\|") for line in lines]

    app.connect("autodoc-process-docstring", plain_bars, priority=900)
