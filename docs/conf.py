"""How the documentation is built. Two reference pages are made from the code: the verbs and the
settings; so are the pictures of the gallery that need no trained model.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gallery import draw_fresh
from reference_pages import write_reference

project = "Dragoman"
author = "The Dragoman founders"
release = version = installed_version("dragoman")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.intersphinx", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Dragoman"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_copyright = False
autodoc_typehints = "description"
autodoc_member_order = "bysource"
nitpick_ignore_regex = [("py:(class|data|obj)", ".*")]  # types in signatures need no page of their own

write_reference(Path(__file__).parent / "reference")
draw_fresh(Path(__file__).parent / "pictures" / "made")
