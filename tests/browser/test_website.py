"""The project's web site: whole, small, from files alone, and without a line of an answer."""

import json
import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from axe_rules import RULES
from leaks import lines_of, telling_lines

from autograder.builder.source import read_labs
from autograder.builder.website import build_website, render
from autograder.builder.website.labs import lab_files
from autograder.errors import Refusal
from labkit.labs.show import players

LABS = read_labs()
MOST_BYTES = 500_000
LOADED = {"img": "src", "script": "src", "source": "src", "iframe": "src", "link": "href"}
SEEN = [  # a page of each kind; with --large, all pages
    f"notebooks/{LABS[0].name}.html",
    *("index.html", "README.html", "docs/glossary.html", "search.html"),
    f"gallery/{LABS[3].name}.html",  # with a player
    f"api/labkit.{LABS[0].topic}.html",
]
SCHEMES, WIDE, SMALLER = ("light", "dark"), 1280, (900, 390)
ALL_BUT_CONTRAST = RULES | {"rules": {"color-contrast": {"enabled": False}}}
MARK_SHOWN = """() => document.querySelectorAll('*').forEach(node =>
    node.toggleAttribute('data-shown', node.checkVisibility({visibilityProperty: true})))"""
MARK_NEW = """() => document.querySelectorAll('[data-shown] > :not([data-shown])').forEach(node =>
    node.toggleAttribute('data-new', node.checkVisibility({visibilityProperty: true})))"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
IS_IN_CSS = re.compile(r"url\(\s*['\"]?(?!data:|#)([^'\")]+)|@import\s+['\"]([^'\"]+)")


class Page(HTMLParser):
    """What a page links to, loads and says; what of it a link can lead to."""

    def __init__(self, path):
        super().__init__()
        self.path, self.ids, self.links, self.loaded, self.text = path, set(), [], [], ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        address = given.get(LOADED.get(tag, "href"))
        if tag == "a" or (tag == "link" and given["rel"] not in ("stylesheet", "icon")):
            self.links += [address] if address else []
        elif tag in LOADED and address and given.get("loading") != "lazy":
            self.loaded.append(address)
        elif tag in LOADED and address:
            self.links.append(address)

        self.text += "`" * (tag == "code")

    def handle_endtag(self, tag):
        self.text += "`" * (tag == "code")

    def handle_data(self, data):
        self.text += data

    def file(self, address):
        """The file of the site at an address on this page, and the place in it."""
        parts = urlsplit(address)
        path = (self.path.parent / unquote(parts.path)).resolve() if parts.path else self.path
        return path, unquote(parts.fragment)


def is_outside(address):
    return bool(urlsplit(address).netloc or urlsplit(address).scheme not in ("", "data"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("website").resolve()
    build_website(folder)
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """The pages by path."""
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_link_leads_to_a_page_and_to_a_place_on_it(site, pages):
    broken = []
    for page in pages.values():
        for link in [*page.links, *page.loaded]:
            if is_outside(link) or link.startswith("data:"):
                continue
            path, place = page.file(link)
            is_there = path.is_file() and site in path.parents
            if not is_there or (place and path in pages and place not in pages[path].ids):
                broken.append(f"{page.path.relative_to(site)}: {link}")
    assert broken == []
    assert sum(len(page.links) for page in pages.values()) > 1000


def test_no_page_loads_anything_from_outside(site, pages):
    loaded = {link for page in pages.values() for link in page.loaded}
    for path in site.rglob("*.css"):
        loaded |= {one or other for one, other in IS_IN_CSS.findall(path.read_text())}
    assert [link for link in loaded if is_outside(link)] == []


def test_every_page_is_small_with_all_that_it_loads_at_once(pages):
    sizes = {}
    for path, page in pages.items():
        files = {page.file(link)[0] for link in page.loaded if not link.startswith("data:")}
        sizes[path.name] = sum(file.stat().st_size for file in {path, *files})
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


def test_no_line_of_an_answer_is_in_any_file_of_the_site(site, pages):
    """A lab's own page may show the answers of earlier labs, as its notebook may."""
    allowed = {lab.name: telling_lines(lab, LABS) for lab in LABS}
    for path in site.rglob("*"):
        if path.suffix in (".png", ".inv", ".woff2", ".ico") or path.is_dir():
            continue
        text = pages[path].text if path in pages else path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        telling = allowed.get(path.stem, allowed[LABS[0].name])
        assert telling & lines_of(text) == set(), path.relative_to(site)


def test_every_lab_and_every_document_has_a_page(site, pages):
    front = pages[site / "index.html"]
    for lab in LABS:
        page = pages[site / f"notebooks/{lab.name}.html"]
        for cell in lab.exercises:
            assert f"def {cell.name}(" in page.text or f"class {cell.name}" in page.text
        assert f"notebooks/{lab.name}.html" in front.links
    galleries = [f"gallery/{lab.name}" for lab in LABS if lab.topic in players()]
    for name in ("README", "docs/course", "docs/marks", "CONTRIBUTING", *galleries):
        assert f"{name}.html" in front.links


def test_a_page_of_a_released_course_opens_its_lab_in_colab():
    lab = LABS[0]
    text = lab_files("https://someone.github.io/course")[f"notebooks/{lab.name}.md"].decode()
    place = f"someone/course/blob/gh-pages/notebooks/{lab.name}.ipynb"
    assert f"(https://colab.research.google.com/github/{place})" in text
    assert "colab" not in lab_files("")[f"notebooks/{lab.name}.md"].decode().partition("````")[0]


def test_a_formula_needs_no_script(tmp_path):
    render({"index.md": b"# Formulas\n\nHere is $a^2$.\n"}, tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "<msup>" in text
    assert "mathjax" not in "".join(re.findall("<script.*?>", text)).lower()


def test_a_link_that_leads_nowhere_is_refused(tmp_path, capfd):
    with pytest.raises(Refusal, match="the site was not built"):
        render({"index.md": b"# A page\n\n[gone](gone.md)\n"}, tmp_path)
    assert "gone.md" in capfd.readouterr().err


@pytest.fixture
def seen(site, pages, request):
    """Pages to look at."""
    every = sorted(str(path.relative_to(site)) for path in pages)
    return every if request.config.getoption("--large") else SEEN


def test_nothing_of_a_page_breaks_wcag_aa(site, seen, browser, shoot):
    """Contrast takes longest: on a narrow page, it is looked at where something appears."""
    for name in seen:
        page = browser.new_page(reduced_motion="reduce")
        loaded = []
        page.on("request", lambda request, loaded=loaded: loaded.append(request.url))
        page.goto((site / name).as_uri())
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            resize(page, WIDE)
            assert broken_rules(page) == [], (name, scheme)
            picture = f"site-{name.rpartition('/')[2].removesuffix('.html')}-{scheme}.png"
            shoot(page, picture, full_page=True)
            page.evaluate(MARK_SHOWN)
            for width in SMALLER:
                resize(page, width)
                page.evaluate(MARK_NEW)
                assert broken_rules(page, "[data-new]") == [], (name, scheme, width)
        for width in SMALLER:
            resize(page, width)
            assert broken_rules(page, rules=ALL_BUT_CONTRAST) == [], (name, width)
        assert {urlsplit(url).scheme for url in loaded} <= {"file", "data"}, name
        page.close()


def resize(page, width):
    """Nothing of the page may reach beyond its new width."""
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate(TOO_WIDE) <= 0, (page.url, width)


def broken_rules(page, part=None, rules=RULES):
    """What axe finds wrong on a page, or on a part of it: the rule, the element, and why."""
    found = Axe().run(page, part, rules).response
    assert found["passes"]
    return [
        (rule["id"], node["html"][:200], node["failureSummary"])
        for rule in found["violations"]
        for node in rule["nodes"]
    ]
