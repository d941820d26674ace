"""A course as a static site, and the command that writes it."""

import hashlib
import io
import json
import re
import shutil
import zipfile
from html.parser import HTMLParser
from urllib.parse import unquote, urldefrag

import pytest
from typer.testing import CliRunner

from autograder import places
from autograder.builder import course
from autograder.builder.colab import colab_address
from autograder.builder.course import student_notebook_path
from autograder.builder.editions import edition_of
from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab, read_course
from autograder.cli import app
from autograder.intake.master import read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import rebuild
from autograder.places import NOTEBOOKS

LAB, OTHER = find_lab("01"), find_lab("08")
RAW = "https://raw.githubusercontent.com/someone/course"
COLAB = "https://colab.research.google.com/github"


def release(*arguments, draft=True):
    options = ["--draft"] if draft else []  # the kit's own course page is not filled in
    return CliRunner().invoke(app, ["release", *options, *map(str, arguments)])


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A site that two labs were released to, one after the other."""
    folder = tmp_path_factory.mktemp("released")
    for lab in (LAB, OTHER):
        assert release(lab.name, "--to", folder, "--url", f"{RAW}/main/").exit_code == 0
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def own_course(tmp_path, monkeypatch):
    """A course.toml and notebooks that may be written."""
    notebooks = tmp_path / "notebooks"
    shutil.copytree(NOTEBOOKS, notebooks, ignore=shutil.ignore_patterns("source"))
    monkeypatch.setattr(places, "COURSE", notebooks / "course.toml")
    monkeypatch.setattr(course, "NOTEBOOKS", notebooks)
    return notebooks


class Links(HTMLParser):
    """The targets of a page's links and pictures."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src")]


def test_every_link_of_a_site_leads_to_a_file_of_that_hash(released):
    pages = list(released.rglob("*.html"))
    assert len(pages) == 7
    for page in pages:
        for link in Links(page.read_text()).found:
            if link.startswith("https://"):
                continue
            path, digest = urldefrag(link)
            target = page.parent / unquote(path)
            target = target / "index.html" if path.endswith("/") else target
            assert target.exists(), (page, link)
            if digest:
                assert digest == f"sha256={hashlib.sha256(target.read_bytes()).hexdigest()}"


def test_a_site_has_each_wheel_once_and_says_the_sum_of_every_file(released):
    sums = dict(
        reversed(line.split("  "))
        for line in (released / "SHA256SUMS").read_text().split("\n")[:-1]
    )
    files = [path for path in released.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    assert sums == {
        path.relative_to(released).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    assert sorted(path.name.partition("-")[0] for path in (released / "wheels").iterdir()) == [
        "labkit", "labkit", "labkit_data"
    ]  # fmt: skip


def test_the_same_sources_give_the_same_site(released):
    before = {path: path.read_bytes() for path in released.rglob("*") if path.is_file()}
    assert release(LAB.name, "--to", released, "--url", f"{RAW}/main").exit_code == 0
    assert {path: path.read_bytes() for path in released.rglob("*") if path.is_file()} == before


def test_notebooks_carry_their_edition_the_address_and_a_badge(released):
    cells = json.loads((released / "notebooks/01_memory.ipynb").read_text())["cells"]
    link = f"{COLAB}/someone/course/blob/main/notebooks/01_memory.ipynb"
    assert f'href="{link}"' in "".join(cells[0]["source"])
    code = next("".join(cell["source"]) for cell in cells if cell["id"] == "install")
    for wheel in edition_of(LAB).wheels:
        assert wheel.version in code and wheel.sha256 in code
    assert f'address="{RAW}/main"' in code


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (f"{RAW}/main", "someone/course/blob/main"),
        (f"{RAW}/refs/heads/main/site", "someone/course/blob/main/site"),
        ("https://someone.github.io/course", "someone/course/blob/gh-pages"),
        ("https://someone.github.io/course/x", "someone/course/blob/gh-pages/x"),
        ("https://someone.github.io", "someone/someone.github.io/blob/main"),
        ("https://course.example", None),
        ("https://github.io.example/course", None),
        ("", None),
    ],
)
def test_colab_opens_what_lies_on_github(address, place):
    assert colab_address(address, "a.ipynb") == (f"{COLAB}/{place}/a.ipynb" if place else "")


def test_what_changed_needs_a_higher_revision(own_course, tmp_path):
    place = tmp_path / "site"
    name = edition_of(LAB).wheels[1].file_name
    assert release(LAB.name, "--to", place).exit_code == 0
    assert release(LAB.name, "--to", place, "--revise").exit_code == 0
    assert LAB.name not in read_course().revisions
    listed = place / "labkit-lab01.json"
    listed.write_text(re.sub(r"lab01\.1\.h\w+", "lab01.1.h00000000", listed.read_text()))
    done = release(LAB.name, "--to", place)
    assert done.exit_code == 2
    assert re.search(
        r"site holds another content of this revision of 01_memory.*--revise", done.output
    )
    assert (place / "wheels" / name).exists()
    assert release(LAB.name, "--to", place, "--revise").exit_code == 0
    assert read_course().revisions[LAB.name] == 2
    assert "+lab01.2.h" in listed.read_text()
    assert "+lab01.2." in (own_course / "01_memory.ipynb").read_text()
    assert "<td>2</td>" in (place / "index.html").read_text()
    listed.write_text("{}")
    assert "take it away" in release(LAB.name, "--to", place).output


def test_all_labs_of_the_term_are_released_and_answers_given_away_are_named(own_course, tmp_path):
    deadlines = "01_memory = 2999-10-01T23:59:59\n08_papers = 2999-12-01T23:59:59"
    places.COURSE.write_text(f'title = "A course"\n[policy.deadlines]\n{deadlines}')
    done = release("--all", "-o", tmp_path)
    assert done.exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("*.zip")) == [
        "01_memory.zip",
        "08_papers.zip",
    ]
    warning = "Warning: the files of 08_papers hold the answers of 01_memory, not yet due"
    assert done.stderr.splitlines() == [warning]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name one lab, or give --all"),
        (["01", "--all"], "name one lab, or give --all"),
        (["01", "--revise"], "give its folder with --to"),
        (["01", "--url", "course.example"], "no address: write https"),
        (["01", "--url", "http://course.example"], "can be changed on its way: write https"),
        (["01", "--url", "http://localhost.example"], "can be changed on its way: write https"),
        (["99"], "no lab '99'"),
    ],
)
def test_a_slip_is_one_sentence(arguments, message):
    done = release(*arguments)
    assert done.exit_code == 2
    assert message in done.output


def test_a_release_names_each_field_of_the_course_page_that_is_not_filled_in(own_course, tmp_path):
    done = release(LAB.name, "-o", tmp_path, draft=False)
    assert done.exit_code == 2
    assert not list(tmp_path.glob("*.zip"))
    for line in (
        '"Course and term" = "[name, term]"',
        '"Staff" = "[names]"',
        '"Where to hand in" = "[platform]"',
        'ask = "[e-mail], with the subject [COURSE LAB]"',
    ):
        assert f"  {line}\n" in done.stderr
    assert "until the date on your feedback page" not in done.stderr
    assert "--draft" in done.stderr.splitlines()[-1]
    packed = release(LAB.name, "-o", tmp_path)
    assert (tmp_path / f"{LAB.name}.zip").exists()
    assert "Warning: a draft: 9 fields are not filled in" in packed.stderr


@pytest.mark.parametrize("text", ["[names]", "Ann, [names]", "", "  "])
def test_a_field_with_brackets_or_nothing_is_not_filled_in(text, own_course, tmp_path):
    places.COURSE.write_text(f'title = "A course"\n[page]\nStaff = "{text}"\nRoom = "R 1"\n')
    done = release(LAB.name, "-o", tmp_path, draft=False)
    assert done.exit_code == 2
    assert f'\n  "Staff" = "{text}"\n' in done.stderr
    assert "Room" not in done.stderr


def test_a_course_page_that_is_filled_in_needs_no_draft(own_course, tmp_path):
    board = "[the board](https://board.example)"
    text = places.COURSE.read_text()
    places.COURSE.write_text(re.sub(r'= "[^"]*\[.*"$', f'= "{board}"', text, flags=re.MULTILINE))
    done = release(LAB.name, "-o", tmp_path, draft=False)
    assert done.exit_code == 0
    assert done.stderr == ""


def test_a_released_notebook_is_handed_in_like_the_repositorys(released):
    master = read_master(build_notebook(LAB, "student"), LAB.name)
    handed_in = (released / "notebooks/01_memory.ipynb").read_bytes()
    rebuilt = rebuild(master, read_notebook(handed_in, "01_memory.ipynb"))
    as_committed = rebuild(
        master, read_notebook(student_notebook_path(LAB).read_bytes(), "a.ipynb")
    )
    assert [step.source for step in rebuilt.steps] == [step.source for step in as_committed.steps]
    assert rebuilt.notes == as_committed.notes


def test_a_site_has_the_rules_the_reading_list_and_the_glossary(released):
    index = (released / "index.html").read_text(encoding="utf-8")
    for name, words in {"course": "Late work", "reading": "SpecInfer", "glossary": "詞元"}.items():
        page = (released / f"{name}.html").read_text(encoding="utf-8")
        assert f'href="{name}.html"' in index
        assert words in page
        assert ".md" not in page.replace("AGENTS.md", "")  # which is no page


TO_A_PAGE = re.compile(r"\]\(([^)]*(?:glossary|course|reading)[^)]*)\)")


def test_links_to_the_glossary_work_in_a_zip_and_on_a_site(released):
    with zipfile.ZipFile(io.BytesIO(edition_of(LAB).zipped(""))) as archive:
        linked = TO_A_PAGE.findall(archive.read(f"{LAB.name}.ipynb").decode())
        assert "glossary.html" in linked
        assert set(linked) <= set(archive.namelist())
    linked = TO_A_PAGE.findall((released / f"notebooks/{LAB.name}.ipynb").read_text())
    assert f"{RAW}/main/glossary.html" in linked
    assert all((released / link.removeprefix(f"{RAW}/main/")).is_file() for link in linked)
