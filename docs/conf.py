"""How the site is built: `pip install ".[docs]" && sphinx-build -W docs site`.

It needs no network, neither to be built nor to be read.
"""

import os
import sys
import warnings
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is loaded: examples are small
os.environ["MPLBACKEND"] = "agg"

from hrpursuit import __version__ as release  # noqa: E402

project = "hrpursuit"
author = "The hrpursuit developers"
copyright = f"2026, {author}"
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "benchmark_pages",
    "command_pages",
    "paper_pages",
    "pictures",
]
exclude_patterns = ["extensions", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.json"]
nitpicky = True
smartquotes = False  # it makes a dash of the two hyphens of an option
nitpick_ignore = [("py:obj", "verdict_"), ("py:obj", "n_decoded")]  # properties: documented where they are listed
default_role = "code"
language = "en"

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 4
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
add_module_names = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "subsection_order": ExplicitOrder(
        [f"../examples/{name}" for name in ("recovery", "compression", "images", "online", "scaling")]
    ),
    "within_subsection_order": "ExampleTitleSortKey",
    "remove_config_comments": True,
    "download_all_examples": False,
    "min_reported_time": 1,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
    "nested_sections": False,
    "write_computation_times": False,
    "show_signature": False,
    "capture_repr": (),
    "copyfile_regex": r".*(\.rst|\.md)",
}
# what sphinx-gallery keeps of its configuration cannot be pickled; the build is not the worse for it
suppress_warnings = ["config.cache"]
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "hrpursuit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": [], "questions": []}
html_theme_options = {
    "show_nav_level": 2,
    "navigation_depth": 3,
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "search_as_you_type": False,
    "search_bar_text": "Search the documentation",
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
html_context = {"default_mode": "auto"}
