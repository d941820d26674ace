"""Settings of Sphinx for the site. Every file that a page loads comes from the site itself."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

from autograder.builder.source import read_course

project = read_course().title
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.githubpages"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
default_role = "code"  # docstrings write `code` in Markdown's way
autodoc_preserve_defaults = True
autodoc_use_type_comments = False  # to look for them takes a second
autodoc_typehints_format = "short"
add_module_names = False
suppress_warnings = ["ref.python"]  # two classes of labkit have one name

html_theme = "furo"
html_title = project
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = html_show_sourcelink = html_show_copyright = False

ITEM = re.compile(r"\s*(\d+\.|-|\w+:) ")


def setup(app) -> None:
    """Formulas as MathML, which needs no script; docstrings as the text that they are."""
    app.add_html_math_renderer("mathml", (_formula, None), (_formula, None))
    app.connect("autodoc-process-docstring", _as_text)


def _formula(translator, node) -> None:
    is_block = isinstance(node, nodes.math_block)
    translator.body.append(tex2mathml(node.astext(), as_block=is_block))
    raise nodes.SkipNode


def _as_text(app, what, name, obj, options, lines) -> None:
    """A star in a docstring means itself. A line that begins like an item is a paragraph."""
    parts = re.split(r"(`[^`]+`)", "\n".join(lines))
    parts[::2] = [re.sub(r"([*|_`\\])", r"\\\1", part) for part in parts[::2]]
    lines[:] = [""]
    for line in "".join(parts).split("\n"):
        if ITEM.match(line) or _indent(line) < _indent(lines[-1]):
            lines.append("")
        lines.append(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
