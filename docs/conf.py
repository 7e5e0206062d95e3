"""How `make docs` builds docs/ into a site: Sphinx reads the pages, out/docs gets the HTML.

Pages are CommonMark and read well unbuilt. The site fetches nothing: no fonts, scripts or pictures
of other hosts. tests/docs/test_site.py holds that.
"""

import gc
import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]

# Pages are trees of small objects that stay: to look for garbage among them all the time takes an
# eighth of the build.
gc.set_threshold(100_000, 50, 100)

project = "Ganglion"
html_title = "Ganglion"
extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_site"]
templates_path = ["_site/templates"]

nitpicky = True
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]
suppress_warnings = ["misc.highlighting_failure"]  # examples leave parts out with `...`

html_theme = "shibuya"
html_static_path = ["_site/static"]
html_css_files = ["site.css"]
html_favicon = html_logo = "images/mark.svg"
html_copy_source = False
html_show_sphinx = False
html_last_updated_fmt = None
html_theme_options = {
    "show_ai_links": False,
    "accent_color": "teal",
    "toctree_collapse": True,
    "nav_links": [
        {"title": "Tutorials", "url": "tutorials/README"},
        {"title": "How to", "url": "guides"},
        {"title": "Reference", "url": "reference/README"},
        {"title": "Explanation", "url": "explanation"},
    ],
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
copybutton_prompt_text = "$ "
copybutton_here_doc_delimiter = "EOF"
copybutton_line_continuation_character = "\\"

OUTSIDE = {
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
    "examples/plugin/README.md": "project/plugin-example.md",
    "charts/ganglion/README.md": "project/chart.md",
}
"""Page outside of docs/ -> the page below docs/ in whose place the site shows it."""
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\(([^)\s:]+)\)")
"""A link to a file, on one line."""

FONT = re.compile(r"@font-face\s*\{[^}]*url\([\"']?https?:[^}]*\}")
"""A font of another host."""


class Stems(SearchEnglish):
    """The search finds words by their stems, each worked out once: pages share their words."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(super().stem)  # type: ignore[method-assign]


def setup(app: "Sphinx") -> None:
    """Let pages outside of docs/ be pages of the site, and links lead to them; fetch no font."""
    app.add_search_language(Stems)
    app.connect("source-read", _read)
    app.connect("build-finished", _without_fonts)


def _without_fonts(app: "Sphinx", _failed: Exception | None) -> None:
    """Cut the fonts that the theme's style loads from another host."""
    for style in (app.outdir / "_static").glob("*.css"):
        text = style.read_text("utf-8")
        if (kept := FONT.sub("", text)) != text:
            style.write_text(kept, "utf-8")


def _read(_app: "Sphinx", name: str, text: list[str]) -> None:
    source = next((each for each, here in OUTSIDE.items() if here == f"{name}.md"), "")
    if source:
        text[0] = (ROOT / source).read_text("utf-8")
    written = ROOT / (source or f"docs/{name}.md")
    shown = ROOT / "docs" / f"{name}.md"
    text[0] = LINK.sub(lambda link: _linked(link, written.parent, shown.parent), text[0])


def _linked(link: re.Match[str], written: Path, shown: Path) -> str:
    """A link as the site has it: folders outside of docs/ are no pages, and stay text."""
    target, mark, anchor = link[2].partition("#")
    if not target:
        return link[0]
    file = Path(os.path.normpath(written / target))
    if file.is_dir():
        file /= "README.md"
        if not file.exists():
            return link[1]
    named = file.relative_to(ROOT).as_posix()
    file = ROOT / "docs" / OUTSIDE[named] if named in OUTSIDE else file
    return f"[{link[1]}]({os.path.relpath(file, shown)}{mark}{anchor})"
