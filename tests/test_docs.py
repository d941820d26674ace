"""The documents beside the code: links lead somewhere, the glossary is whole in both languages."""

import re

import pytest

from autograder.places import REPOSITORY

PAGES = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").glob("*.md")]
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_to_a_file_leads_to_one(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_word_of_the_glossary_is_explained_in_both_languages():
    lines = (REPOSITORY / "docs/glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| ")]
    words = [row for row in rows if row[0].strip() != "word"]
    assert len(words) > 40
    for word, _, english, chinese in words:
        assert english.strip().endswith("."), word
        assert CHINESE.search(chinese), word
        assert not CHINESE.search(english), word
    names = [row[0].strip() for row in words]
    assert len(set(names)) == len(names)


def section(page, heading):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    return text.split(f"## {heading}\n")[1].split("\n## ")[0]


def tree_of(block):
    """The paths in the first column of a drawn tree, two spaces a level."""
    parents = []
    for line in filter(None, block.splitlines()):
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        parents = [*parents[:depth], name]
        yield "".join(parents)


def lines_of(path):
    return len((REPOSITORY / path).read_text(encoding="utf-8").splitlines())


def test_every_path_of_reading_the_code_exists():
    text = section("README.md", "Reading the code")
    paths = [*tree_of(text.split("```")[1])]
    steps = [row.split("|")[2] for row in text.splitlines() if row.startswith("| ")][1:]
    paths += [path for step in steps for path in re.findall(r"`([^`]+)`", step)]
    assert len(paths) > 50
    roots = (REPOSITORY, REPOSITORY / "autograder")
    places = [path.replace("LAB", "kv_cache") for path in paths]
    assert [p for p in places if not any((root / p).exists() for root in roots)] == []


def test_the_tree_of_reading_the_code_has_every_folder_of_the_packages():
    drawn = {*tree_of(section("README.md", "Reading the code").split("```")[1])}
    folders = {
        f"{path.parent.relative_to(REPOSITORY)}/"
        for root in ("labkit", "autograder", "training", "benchmarks")
        for path in (REPOSITORY / root).glob("*/__init__.py")
    }
    assert folders - drawn == {"labkit/labs/", "autograder/labs/"}  # a lab is one LAB there


def test_a_sitting_names_files_that_exist_and_has_as_many_lines_as_it_says():
    sittings = re.split(r"^\d\. ", section("CONTRIBUTING.md", "Read the project in three sittings"),
                        flags=re.MULTILINE)[1:]  # fmt: skip
    assert len(sittings) == 3
    for sitting in sittings:
        stated = int(re.search(r"\(([\d,]+) lines\)", sitting)[1].replace(",", ""))
        assert sum(map(lines_of, re.findall(r"`(\S+\.py)`", sitting))) == pytest.approx(stated, 0.1)


def test_what_contributing_says_of_file_sizes_is_true():
    sizes = sorted(filter(None, (lines_of(path) for root in ("labkit", "autograder")
                                 for path in (REPOSITORY / root).rglob("*.py"))))  # fmt: skip
    assert sizes[len(sizes) // 2] < 125 and sizes[len(sizes) * 9 // 10] < 255 and sizes[-1] < 400
