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
