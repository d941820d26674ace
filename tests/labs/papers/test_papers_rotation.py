"""The two places of lab 8 that change from term to term."""

import json
import shutil

import pytest

from autograder import places
from autograder.builder.course import build_course, stale_files
from autograder.builder.editions import edition_of
from autograder.builder.source import find_lab, read_course, settings_files
from autograder.errors import Refusal
from autograder.labs.papers import rotation
from autograder.labs.papers.key import explanations
from autograder.labs.papers.rotation import DEFAULT, rotating_names, rotation_from
from labkit.labs.papers import items as papers
from labkit.labs.papers.items import items, rotating_item
from tests.known.papers import every_key
from tests.known.papers.newer import NEWER, PRINTED

FIXED = ("q04", "q05", "q09")


def test_each_place_can_be_any_of_six_newer_papers_or_two_older_questions():
    assert rotating_names() == sorted([*NEWER, "in_general", "the_ratio"])
    for first in rotating_names():
        for second in set(rotating_names()) - {first}:
            assert rotation_from({"q10": first, "q12": second}) == {"q10": first, "q12": second}


@pytest.mark.parametrize("name", NEWER)
def test_what_the_paper_prints_stands_in_both_languages(name):
    for text in rotating_item(name, "q10").question.values():
        for printed in PRINTED[name]:
            assert printed in " ".join(text.split()), printed


@pytest.mark.parametrize("name", rotating_names())
def test_an_item_is_called_after_its_place_and_its_key_after_its_file(name):
    for place in DEFAULT:
        item = rotating_item(name, place)
        assert (item.id, item.name, item.kind) == (place, name, "audit")
        assert item.answers == (place, f"{place}_numbers")
    assert every_key()[name].item.name == name


def test_the_committed_rotation_is_that_of_course_toml():
    for path, content in settings_files().items():
        assert path.read_bytes() == content
    assert rotation_from(read_course().papers) == {p: items()[p].name for p in DEFAULT}
    assert not set(FIXED) & set(DEFAULT)


def test_a_place_that_course_toml_does_not_name_has_the_kits_choice():
    assert rotation_from({}) == DEFAULT
    assert rotation_from({"q10": "mooncake"}) == DEFAULT | {"q10": "mooncake"}


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"q10": "eagle_3", "q12": "eagle_3"}, r"\[papers\], q12: eagle_3 stands in q10 already"),
        ({"q10": "sarathi_serve"}, r"q12: sarathi_serve stands in q10 already"),
        ({"q12": "flash_attention_5"}, r"q12: there is no question 'flash_attention_5'; there are"),
        ({"q10": 3}, r"q10: there is no question 3"),
        ({"q10": ["eagle_3"]}, r"q10: there is no question \['eagle_3'\]"),
        *(({place: "mooncake"}, f"{place}: this place does not change; q10 and q12 do")
          for place in FIXED),
    ],
)  # fmt: skip
def test_a_wrong_rotation_is_refused_with_its_place(named, message):
    with pytest.raises(Refusal, match=r"notebooks/course.toml, \[papers\], ") as refused:
        rotation_from(named)
    assert refused.match(message)


@pytest.fixture
def mooncake_alone(tmp_path, monkeypatch):
    """A folder that stands for data/papers, with one question, which may be changed."""
    folder = tmp_path / "papers/rotating"
    folder.mkdir(parents=True)
    shutil.copy(rotation.PAPERS / "rotating/mooncake.toml", folder)
    at_home = papers.data_path
    monkeypatch.setattr(
        papers, "data_path",
        lambda name: tmp_path / name if name.endswith("mooncake.toml") else at_home(name),
    )  # fmt: skip
    return folder / "mooncake.toml"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[zh]", "[de]", "q10: mooncake.toml has no 'question'"),
        ('zh = "', 'de = "', "q10: mooncake.toml has no 'zh'"),
        ("token = ", "tokens = ", "q10: mooncake.toml: q10: not the same options"),
        ("[zh.options]", "[zh.option]", "q10: mooncake.toml has no 'options'"),
        ("\nzh = '''", "\nde = '''", "q10: mooncake.toml has no 'zh'"),
    ],
)
def test_a_question_without_its_translation_is_refused_with_its_place(
    mooncake_alone, old, new, message
):
    assert rotation_from({"q10": "mooncake"})
    text = mooncake_alone.read_text(encoding="utf-8")
    mooncake_alone.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(Refusal, match=message):
        rotation_from({"q10": "mooncake"})


@pytest.fixture
def another_term(tmp_path, monkeypatch):
    """A course.toml that names another paper."""
    text = places.COURSE.read_text(encoding="utf-8").replace('"eagle_3"\n', '"mooncake"\n')
    monkeypatch.setattr(places, "COURSE", tmp_path / "course.toml")
    places.COURSE.write_text(text, encoding="utf-8")


def test_a_change_waits_for_a_build_and_no_edition_leaves_before(another_term):
    assert rotation.PAPERS / "rotation.json" in stale_files()
    with pytest.raises(Refusal, match=r"rotation.json is not what course.toml says: run"):
        edition_of(find_lab("papers"))


def test_a_build_stops_before_it_writes_a_wrong_rotation(tmp_path, another_term):
    text = places.COURSE.read_text(encoding="utf-8")
    places.COURSE.write_text(text.replace('"mooncake"\n', '"sarathi_serve"\n'), encoding="utf-8")
    before = (rotation.PAPERS / "rotation.json").read_bytes()
    with pytest.raises(Refusal, match="q12: sarathi_serve stands in q10 already"):
        build_course(tmp_path)
    assert (rotation.PAPERS / "rotation.json").read_bytes() == before
    assert json.loads(before)["q12"] == "sarathi_serve"


def test_reasons_of_this_terms_questions_alone_go_out_after_the_deadline():
    names = {path.rpartition("/")[2] for path in explanations()}
    assert len(names) == 20
    chosen = {item.name for item in items().values()}
    for name in rotating_names():
        assert (f"{name}.toml" in names) is (name in chosen)
