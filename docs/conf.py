"""Settings of Sphinx for the manual. scripts/ci/build_manual uses them on a copy of docs/ with generated pages."""
project = "tgc"
copyright = "the authors of tgc"
extensions = ["myst_parser"]
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
exclude_patterns = ["requirements.txt"]
nitpicky = True
highlight_language = "none"
html_theme = "alabaster"
html_theme_options = {"description": "names the line of tinygrad that makes your kernel wrong",
                      "globaltoc_maxdepth": 1, "page_width": "1200px", "body_max_width": "none"}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sourcelink = False
