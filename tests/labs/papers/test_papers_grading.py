"""Lab 8 in the grader: keys, numbers, notebooks of an older release, and that no key gets out."""

import io
import json
import re
import subprocess
import sys
import zipfile
from itertools import product

import numpy as np
import pytest
import torch

from autograder.builder.course import release_lab
from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.intake.master import read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import CLICKED, rebuild
from autograder.labs.papers.key import COPIED, FOLDER, INSTRUCTOR, keys, read_key, solved_answer
from autograder.labs.papers.numbers import RIGHT, rates, reads_holding, speedup_of_tiles
from autograder.labs.papers.slips import SLIPS
from autograder.practice import cell_called
from autograder.proof.matrix import findings_for, play_all
from labkit.labs.papers.items import INSTEAD, items, numbers_text
from labkit.labs.papers.parameters import TABLES
from tests.known.papers import every_key
from tests.known.papers.samples import of_an_older_release

LAB = find_lab("papers")
MASTER = read_master(build_notebook(LAB, "student"), LAB.name)
ITEM, EVERY = items()["q02"], every_key()
GOOD = (FOLDER / "q02_what_it_costs.toml").read_text(encoding="utf-8")


def combinations(item_id):
    """Every set of values that a student may get."""
    for rows in product(*TABLES[item_id].values()):
        given = {}
        for names, row in zip(TABLES[item_id], rows, strict=True):
            given |= zip(names.split(), row, strict=True) if " " in names else {names: row}.items()
        yield given


def test_every_item_has_its_key():
    assert list(keys()) == list(items())
    assert len(list(FOLDER.rglob("*.toml"))) == len(every_key()) == 26


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('right = ["arithmetic", ', "right = [", "2 right ones, the item has 3"),
        ('right = ["arithmetic"', 'right = ["algebra"', "not options"),
        ('right = ["arithmetic"', 'right = ["task"', "each once"),
        ("[zh.why]", "[de.why]", "has no 'zh'"),
        ("\nceiling = ", "\nroof = ", "reason for each option in en"),
        ('name = "inverse"', 'name = "upside_down"', "slips in en"),
        ("\nzh = '''", "\nde = '''", "has no 'zh'"),
        ("right = [", "right = ", "q02_bad.toml"),
    ],
)
def test_a_key_that_does_not_fit_is_refused_by_its_files_name(tmp_path, old, new, message):
    assert old in GOOD
    (tmp_path / "q02_bad.toml").write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError, match=message) as refused:
        read_key(ITEM, tmp_path)
    assert "q02_bad.toml" in str(refused.value)


def test_an_item_has_one_key(tmp_path):
    with pytest.raises(ValueError, match="q02 has 0 keys"):
        read_key(ITEM, tmp_path)


@pytest.mark.parametrize("item_id", RIGHT)
def test_no_slip_lands_on_the_right_number(item_id):
    """Whatever numbers a student has, in every field that the slip gets wrong."""
    for given in combinations(item_id):
        right = RIGHT[item_id](**given)
        assert set(right) == set(EVERY[item_id].item.numbers.fields) - {INSTEAD}
        for name, slip in SLIPS[item_id].items():
            wrong = slip(**given)
            assert set(wrong) <= set(right), name
            for field, value in wrong.items():
                is_count = isinstance(right[field], int)
                apart = value != right[field] if is_count else abs(value / right[field] - 1) > 1e-2
                assert apart, (name, field, given)


@pytest.mark.parametrize("item_id", RIGHT)
def test_students_get_many_different_right_numbers(item_id):
    found = {tuple(EVERY[item_id].numbers(f"b{i}").values()) for i in range(200)}
    assert len(found) >= 5


def test_the_right_numbers_of_known_cases():
    """The counts of the facts: T_c = 5 at M = 64,000 elements, and what follows from it."""
    assert reads_holding(1024, 64, 64_000) == {"tile_kv": 250, "reads": 796_672}
    assert reads_holding(1024, 64, 16_384)["reads"] == 2_260_992
    for n, expected in ((1024, 1.835511), (2048, 1.899839), (4096, 1.934696), (8192, 1.952866)):
        got = speedup_of_tiles(n, 64, 250, rates(8.1, 320, 4))["speedup"]
        assert got == pytest.approx(expected, abs=5e-7)


def messages(exercise, source, language="en", student_id=INSTRUCTOR):
    identity = f"student_id = {student_id!r}\nlanguage = {language!r}"
    found = findings_for(LAB, exercise, {exercise: source, "student_id": identity})
    return [finding.message for finding in found if not finding.passed]


def test_a_neighbours_answers_are_of_no_use():
    lost = 0
    for key in keys().values():
        for answer in key.item.answers:
            lost += bool(messages(answer, solved_answer(answer), student_id="b10902001"))
            assert messages(answer, solved_answer(answer, "B1"), student_id=" b1 ") == []
    assert lost >= 20


def test_a_slip_is_named_in_the_students_language():
    key = keys()["q16"]
    for language, name in product(("en", "zh"), key.wrong_numbers(INSTRUCTOR)):
        values = key.numbers(INSTRUCTOR) | key.wrong_numbers(INSTRUCTOR)[name]
        (message, *_) = messages("q16_numbers", f"q16_numbers = {values!r}", language)
        assert key.slips[language][name] in message
        for field in ("tile_kv", "reads"):
            right = key.numbers(INSTRUCTOR)[field]
            assert f"{right:,}" not in message


def test_a_failing_choice_names_the_options_concerned_in_both_languages():
    key = keys()["q02"]
    right = key.letters(INSTRUCTOR)
    wrong = next(letter for letter in "ABCDE" if letter not in right)
    for language in ("en", "zh"):
        (message,) = messages("q02", f"q02 = {[*right[1:], wrong]!r}", language)
        told = [why for why in key.why[language].values() if why in message]
        assert len(told) == 2


ODD = [
    object(), 10**4000, 1j, b"A C", {1, (2, "A")}, {"written": object(), "clicked": ...},
    {"factor": [[]], "reads": "many"},
    np.arange(3), torch.zeros(2, 2), [["A"], ...], ["A", ...], ("A", b"C"), range(3),
    "\ud800" * 200, True, dict.fromkeys(["top_kept", "any_kept", "reads"], np.array("x")),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_values_earn_nothing_and_break_no_check(odd):
    names = [name for item in items().values() for name in item.answers]
    for identity in ({"student_id": "b1", "language": odd}, {"student_id": odd, "language": "zh"}):
        findings = play_all(LAB, identity | dict.fromkeys(names, odd))
        assert not any(finding.passed for finding in findings)
        for finding in findings:
            finding.message.encode()


def test_what_was_clicked_in_an_older_release_does_not_count_and_is_noted_once():
    notebook = json.loads(json.dumps(build_notebook(LAB, "instructor")))
    before = rebuild(MASTER, read_notebook(json.dumps(notebook).encode(), "08_papers.ipynb"))
    of_an_older_release(notebook)
    cells = read_notebook(json.dumps(notebook).encode(), "08_papers.ipynb")
    rebuilt = rebuild(MASTER, cells)
    assert (before.notes, rebuilt.notes) == ([], [CLICKED])
    shown = {cell.metadata.get("labkit", {}).get("name"): cell.source for cell in rebuilt.notebook}
    assert solved_answer("q10") in shown["q10"]
    assert 'q05_numbers = {"tree_tokens": ..., ' in shown["q05_numbers"]


# What students get.


@pytest.fixture(scope="module", params=[False, True], ids=["released", "explained"])
def edition(request, tmp_path_factory):
    """The released files as text, by name, and whether they explain."""
    folder = tmp_path_factory.mktemp("release")
    texts = {}
    with zipfile.ZipFile(release_lab(LAB, folder, explained=request.param)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith(".whl"):
                wheel = zipfile.ZipFile(io.BytesIO(content))
                texts |= {n: wheel.read(n).decode("latin-1") for n in wheel.namelist()}
                wheel.extractall(folder / "site")
            else:
                texts[name] = content.decode("latin-1")
    return texts, request.param, folder / "site"


def test_no_byte_of_a_key_is_in_what_students_get_before_the_deadline(edition):
    texts, is_explained, _ = edition
    whole = "\n".join(text for name, text in texts.items() if not name.endswith(".safetensors"))
    for key in (keys() if is_explained else EVERY).values():
        reasons = [*key.why["en"].values(), *key.why["zh"].values(), *key.how.values()]
        reasons += [
            text for slips in key.slips.values() for name, text in slips.items() if name != COPIED
        ]
        for reason in reasons:
            part = max(re.split(r'["\n]', reason), key=len).encode().decode("latin-1")
            assert (part in whole) == is_explained, reason
        if len(key.right) > 1:
            for between in ('", "', "', '", " ", ", "):
                if between.join(key.right) in whole:
                    assert is_explained, key.item.id
    assert ("papers_explained" in " ".join(texts)) == is_explained
    assert ('right = ["' in whole) == is_explained


def test_an_edition_with_reasons_shows_them_and_any_other_shows_none(edition):
    _, is_explained, site = edition
    code = (
        "from labkit.labs.papers.items import items;"
        "from labkit.labs.papers.questions import AskedItem;"
        "item = items()['q02']; print(AskedItem(item, 'q02', 'b1', 'en').reasons('A B C'));"
        "print(AskedItem(item, 'q02_numbers', 'b1', 'zh').reasons({'factor': 2}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"},
    )  # fmt: skip
    assert (done.stdout.count("✓") == 3) == is_explained
    assert ("Theorem 3.11" in done.stdout) == is_explained


def test_the_students_notebook_is_blank(edition):
    notebook = json.loads(edition[0]["08_papers.ipynb"].encode("latin-1"))
    for key in keys().values():
        letters, *numbers = (
            "".join(cell_called(notebook, answer)["source"]).split("\n")[0]
            for answer in key.item.answers
        )
        assert letters == f"{key.item.id} = ..."
        for line in numbers:
            assert line.count(": ...") == len(key.item.numbers.fields)
            assert not re.search(r": [^.]", line)
    assert "".join(cell_called(notebook, "student_id")["source"]).startswith(
        "student_name = ...\nstudent_id = ...\n"
    )


def test_every_question_of_a_student_is_complete():
    for item in items().values():
        if item.numbers:
            assert "{" not in numbers_text(item, "b1", "en") + numbers_text(item, "b1", "zh")
