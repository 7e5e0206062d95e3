"""The documentation is a site without broken links that needs no other host."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
STRICT = ("--quiet", "--fail-on-warning", "--keep-going")
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("link", "href"),
    ("object", "data"),
    ("use", "href"),
}
"""(element, attribute) whose address a browser loads by itself."""
OUTSIDE = re.compile(r"(?:[a-z]+:)?//", re.IGNORECASE)
STYLED = re.compile(r"(?:url\(|@import)\s*['\"]?([^'\")\s;]+)")

pytestmark = pytest.mark.xdist_group("site")


def build(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sphinx", *STRICT, "-c", str(DOCS), str(source), str(out)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = build(DOCS, out)
    assert done.returncode == 0, done.stderr
    return out


class Page(HTMLParser):
    """What a page loads, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if tag == "a" and name == "href":
                self.links.append(value or "")
            elif (tag, name) in FETCHED and ("rel", "canonical") not in attrs:
                self.loads.append(value or "")
            elif name == "style":
                self.loads += STYLED.findall(value or "")


def fetched(site: Path) -> set[str]:
    """Addresses that pages and styles load by themselves."""
    pages = [Page(each.read_text("utf-8")) for each in site.rglob("*.html")]
    styles = [STYLED.findall(each.read_text("utf-8")) for each in site.rglob("*.css")]
    inline = [
        STYLED.findall("".join(re.findall(r"<style.*?</style>", each.read_text("utf-8"), re.S)))
        for each in site.rglob("*.html")
    ]
    return {one for each in pages for one in each.loads} | {
        one for each in [*styles, *inline] for one in each
    }


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    addresses = fetched(site)
    assert len(addresses) > 10
    assert sorted(each for each in addresses if OUTSIDE.match(each)) == []


def test_a_browser_may_load_nothing_from_other_hosts(site: Path) -> None:
    """The theme's scripts name hosts for what it could show besides: pages forbid them."""
    policy = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
    pages = [each for each in site.rglob("*.html") if "_downloads" not in each.parts]
    policies = {tuple(policy.findall(each.read_text("utf-8"))) for each in pages}
    assert policies == {("default-src 'self' file: data: 'unsafe-inline'",)}


def test_addresses_of_other_hosts_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<script src="//cdn.example/x.js"></script><a href="https://example.org">fine</a>'
        '<p style="background: url(https://b.example/x.png)">'
        "<style>@import 'https://c.example/x.css';</style>"
    )
    (tmp_path / "b.css").write_text("@font-face {src: url('https://d.example/x.woff2')}")
    assert sorted(fetched(tmp_path)) == [
        "//cdn.example/x.js",
        "https://b.example/x.png",
        "https://c.example/x.css",
        "https://d.example/x.woff2",
    ]


def test_every_page_is_reached_from_the_index(site: Path) -> None:
    reached, following = set[Path](), [site / "index.html"]
    while following:
        if (page := following.pop()) in reached:
            continue
        reached.add(page)
        for link in Page(page.read_text("utf-8")).links:
            target = unquote(link.partition("#")[0])
            if target.endswith(".html") and not OUTSIDE.match(target):
                following.append((page.parent / target).resolve())
    written = {
        site / each.relative_to(DOCS).with_suffix(".html")
        for each in DOCS.rglob("*.md")
        if "_site" not in each.parts
    }
    assert len(written) > 100
    assert sorted(map(str, written - reached)) == []


def test_every_page_is_found_by_the_search(site: Path) -> None:
    index = (site / "searchindex.js").read_text("utf-8")
    assert '"workload-file"' in index
    assert '"gang"' in index


def test_a_page_outside_of_the_folder_is_shown_whole(site: Path) -> None:
    shown = (site / "project" / "contributing.html").read_text("utf-8")
    assert "Before you start" in shown
    assert 'href="../design.html"' in shown


def test_a_broken_link_fails_the_build(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    links = ("[gone](gone.md)", "[gone](#gone)", "[gone](index.md#gone)", "![gone](gone.svg)")
    for number, link in enumerate(links):
        (pages / f"p{number}.md").write_text(f"---\norphan: true\n---\n\n# Page\n\n{link}\n")
    (pages / "index.md").write_text("# Index\n")
    done = build(pages, tmp_path / "out")
    assert done.returncode == 1
    broken = [line for line in done.stderr.splitlines() if "gone" in line]
    named = {found[1] for line in broken if (found := re.search(r"\b(p\d)\.md", line))}
    assert named == {f"p{number}" for number in range(len(links))}, done.stderr
