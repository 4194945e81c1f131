"""`python -m sphinx -W docs docs/_build` makes the pages; it needs the extra `docs`."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ["ENGINE_BACKEND"] = "python"  # signatures and docstrings are read from the source

import reference_pages  # noqa: E402
from sphinx.errors import ExtensionError  # noqa: E402

import engine  # noqa: E402

project = "engine"
author = "the authors of engine"
version = release = engine.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
smartquotes = False  # "" is an empty text in Python
toc_object_entries = False
html_theme = "furo"
html_title = "engine"
html_static_path = ["_static"]
html_css_files = ["page.css"]
html_show_copyright = False
html_copy_source = False


def setup(app):
    """Makes the reference before the pages are read, and holds it against the public names."""
    app.connect("builder-inited", lambda app: reference_pages.write(HERE / "reference"))
    app.connect("autodoc-process-docstring", plain_text)
    app.connect("build-finished", complete)


def plain_text(app, what, name, obj, options, lines):
    """The docstring as markup; a Value's method of one line has that of its rule."""
    rule = engine.registry.RULES.get(name.rpartition(".")[2])
    if not any(lines) and rule is not None:
        lines[:] = (rule.__doc__ or "").splitlines()
    lines[:] = reference_pages.restructured(lines)


def complete(app, exception):
    documented = set(app.env.domains.python_domain.objects)
    absent = reference_pages.missing(documented)
    if exception is None and absent:
        raise ExtensionError(f"the reference lacks {', '.join(absent)}")
