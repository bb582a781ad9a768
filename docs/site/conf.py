# SPDX-License-Identifier: Apache-2.0
"""What Sphinx is told: `make docs` calls it on the folder that assemble.py fills."""

import re
import sys
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes

import tessera as ts

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "Tessera"
author = "The Tessera authors"
copyright = author
version = re.search(r"project\(tessera VERSION ([0-9.]+)", (HERE.parents[1] / "CMakeLists.txt").read_text())[1]
release = version

extensions = ["myst_parser", "sphinx.ext.mathjax"]
root_doc = "index"
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.strikethrough"]
python_maximum_signature_line_length = 80
add_module_names = True
highlight_language = "python"
pygments_style = "tango"
pygments_dark_style = "monokai"

html_theme = "furo"
html_title = f"Tessera {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_math_renderer = "mathml"  # browsers draw it themselves: pages fetch nothing
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c66", "color-brand-content": "#0b5c66"},
    "dark_css_variables": {"color-brand-primary": "#6cc5cf", "color-brand-content": "#6cc5cf"},
}


def inline_math(writer, node):
    writer.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def display_math(writer, node):
    writer.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def linked_types(app, doctree):
    """Types of arguments lead to our classes; one word alone could be any method of that name."""
    for node in list(doctree.findall(addnodes.pending_xref)):
        if not isinstance(node.parent, addnodes.desc_sig_name | addnodes.desc_returns | addnodes.desc_annotation):
            continue
        if isinstance(getattr(ts, node["reftarget"], None), type):
            node["reftarget"] = "tessera." + node["reftarget"]
        else:
            node.replace_self(node.children)


def setup(app):
    app.connect("doctree-read", linked_types)
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
