"""Answers that are alike: copies are found however dressed; what all write is no evidence."""

import json
import random
import re
from collections import Counter
from contextlib import closing
from dataclasses import replace

import pytest
from classroom import LAB, blank, hand_in, result, solved
from copydetect.utils import filter_code
from hypothesis import given
from hypothesis import strategies as st
from instances import some_of

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.pages.evidence.alike import PUBLISHED, Pair, SharedText, groups_of
from autograder.pages.evidence.handed_in import Starter, starter_of
from autograder.pages.evidence.similarity import (
    MODULES,
    exercises_of,
    similar_pairs,
    write_similarity,
)
from autograder.pages.evidence.winnowing import (
    MAX_CHARS,
    PROSE_FRAGMENT_CHARS,
    WINDOW,
    code_text,
    prose_text,
)
from autograder.record.gradebook import CourseBook

STUB = 'def answer(values):\n    """Add them up, whatever comes."""\n    raise NotImplementedError'
STARTER = Starter({"answer": STUB, "essay": "*Write here.*"}, {}, frozenset({"essay"}), frozenset())
OPERATORS = ["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "**"]
CALLS = ["len", "max", "min", "sum", "abs", "sorted", "range", "zip"]
WORDS = "cache token batch layer head memory step model row decode prefill mask width copy".split()


def program(rng, n_lines=14):
    """A function of statements that nobody else would write in this order."""
    lines = [STUB.rpartition("\n")[0]]
    for i in range(n_lines):
        a, b, c = (rng.choice(["values", "total", "x", str(rng.randrange(99))]) for _ in "abc")
        first, second = rng.choice(OPERATORS), rng.choice(OPERATORS)
        call = rng.choice(CALLS)
        lines.append(
            rng.choice(
                [
                    f"    x{i} = {a} {first} {call}({b} {second} {c})",
                    f"    if {a} {first} {b} < {c}: x{i} = {call}({a})",
                    f"    for x{i} in {call}({a}): total {first}= {b}",
                    f"    x{i} = [{a} {first} {b} for y in {call}({c}) if y {second} {a}]",
                ]
            )
        )
    return "\n".join([*lines, "    return total"])


def essay(rng, n_words=60):
    return " ".join(rng.choice(WORDS) for _ in range(n_words))


def classroom(n, rng):
    return {f"s{i:03}": {"answer": program(rng), "essay": essay(rng)} for i in range(n)}


def pairs_of(answers):
    return similar_pairs(exercises_of(STARTER, answers))


def names_of(pairs):
    return [pair.students for pair in pairs]


def disguised(source):
    """Other names, other layout, comments, another text in the docstring."""
    source = re.sub(r"\bx(\d+)\b", r"my_own_\1", source).replace("total", "result_so_far")
    source = source.replace("    return", "\n    # and that is it\n    return")
    return source.replace(" + ", "  +  ").replace("Add them up", "My own words")


def test_unrelated_work_is_not_alike():
    assert pairs_of(classroom(40, random.Random(0))) == []


def test_a_copy_is_found_under_other_names_comments_and_layout():
    answers = classroom(40, random.Random(1))
    answers["s007"] = {"answer": disguised(answers["s003"]["answer"])}
    [pair] = pairs_of(answers)
    assert pair.students == ("s003", "s007")
    assert [match.exercise for match in pair.matches] == ["answer"]
    assert pair.matches[0].share > 0.9


def test_a_copied_half_is_found_and_ranks_below_a_copied_whole():
    rng = random.Random(2)
    answers = classroom(40, rng)
    whole, half = answers["s010"]["answer"], answers["s020"]["answer"].splitlines()
    answers["s011"] = {"answer": whole}
    mixed = half[:11] + program(rng).splitlines()[11:]
    answers["s021"] = {"answer": "\n".join(mixed)}
    assert names_of(pairs_of(answers)) == [("s010", "s011"), ("s020", "s021")]


def test_a_copied_paragraph_is_found_whatever_its_punctuation():
    answers = classroom(40, random.Random(3))
    text = answers["s001"]["essay"].upper().replace(" ", ",  ")
    answers["s002"] = {"essay": f"In my opinion: {text}!"}
    [pair] = pairs_of(answers)
    assert pair.students == ("s001", "s002")
    assert pair.matches[0].exercise == "essay"


def test_what_everybody_writes_is_no_evidence():
    same = program(random.Random(4))
    assert pairs_of({f"s{i}": {"answer": same} for i in range(40)}) == []


def test_prose_in_the_same_words_is_evidence_even_where_half_of_the_class_has_it():
    rng = random.Random(10)
    answers = classroom(10, rng)
    text = essay(rng)
    for i in range(5):
        answers[f"s{i:03}"] = {"essay": text}
    assert len(pairs_of(answers)) == 5 * 4 // 2


def test_a_question_that_is_repeated_in_the_answer_does_not_count():
    rng = random.Random(11)
    starter = replace(STARTER, questions=essay(rng))
    answers = {f"s{i}": {"essay": f"{starter.questions} {essay(rng)}"} for i in range(10)}
    assert similar_pairs(exercises_of(starter, answers)) == []


def test_a_short_task_is_said_to_be_no_evidence():
    rng = random.Random(5)
    short = [
        "    return sum(values)",
        "    return sum(v for v in values)",
        "    return fsum(values)",
    ]
    texts = [f"{STUB.rpartition(chr(10))[0]}\n{rng.choice(short)}" for _ in range(30)]
    [exercise, _] = exercises_of(STARTER, {f"s{i}": {"answer": t} for i, t in enumerate(texts)})
    assert not exercise.is_evidence
    assert exercise.matches() == []


def test_a_fragment_weighs_less_the_more_students_have_it():
    rng = random.Random(6)
    answers = classroom(40, rng)
    rare, common = program(rng), program(rng)
    for name in ("s000", "s001"):
        answers[name] = {"answer": rare}
    for i in range(10, 18):
        answers[f"s{i:03}"] = {"answer": common}
    pairs = pairs_of(answers)
    assert pairs[0].students == ("s000", "s001")
    assert len(pairs) == 1 + 8 * 7 // 2
    assert pairs[0].weight > 1.5 * pairs[1].weight


def test_what_was_handed_out_does_not_count():
    starter = Starter({"answer": program(random.Random(7))}, {}, frozenset(), frozenset())
    line = "\n    total = total"
    answers = {name: {"answer": starter.open["answer"] + line * i} for i, name in enumerate("abcd")}
    assert similar_pairs(exercises_of(starter, answers)) == []


@given(before=st.text("ab c\n", max_size=60), after=st.text("xy z\n", max_size=60))
def test_any_stretch_of_the_guaranteed_length_is_shared(before, after):
    stretch = "".join(map(chr, range(0x4E00, 0x4E00 + PROSE_FRAGMENT_CHARS + WINDOW - 1)))
    alone = prose_text(stretch).fingerprints.keys()
    assert alone & prose_text(before + stretch + after).fingerprints.keys()


def test_names_texts_and_comments_do_not_count_in_code():
    one, other = "total = first('a') # why\n", "x=second('b')"
    assert code_text(one).form.strip() == code_text(other).form.strip()


def test_lines_that_were_handed_out_are_not_marked():
    body = program(random.Random(12)).splitlines()
    given_line = "    y = [values, 12345, values, 12345]"
    text = code_text("\n".join([*body[2:8], given_line, *body[8:]]), {given_line.replace(" ", "")})
    pieces = text.marked(set(text.fingerprints))
    assert any(body[7].strip()[-6:] in piece for piece, is_shared in pieces if is_shared)
    assert not any("12345" in piece for piece, is_shared in pieces if is_shared)
    assert "12345" not in text.form


@given(source=st.text(max_size=200) | st.text("def clas:()=\n'\"\\#x1 ", max_size=400))
def test_marked_pieces_put_together_are_the_text(source):
    for text in (code_text(source), prose_text(source)):
        shared = set(list(text.fingerprints)[::2])
        pieces = text.marked(shared)
        assert "".join(piece for piece, _ in pieces) == text.text
        assert len(text.positions) == len(text.form)


def test_what_is_marked_is_what_is_shared():
    rng = random.Random(8)
    mine, theirs = program(rng), program(rng).splitlines()
    mixed = code_text("\n".join([*theirs[:8], "    class Marker: pass", *mine.splitlines()[8:14]]))
    shared = code_text(mine).fingerprints.keys() & mixed.fingerprints.keys()
    marked = "".join(piece for piece, is_shared in mixed.marked(shared) if is_shared)
    assert mine.splitlines()[10].split("=")[-1].strip() in marked
    assert theirs[4].split("=")[-1].strip() not in marked


def test_fingerprints_are_the_same_in_every_process():
    source = "total = first(values) * 2 + second(values)\n" * 3
    assert min(code_text(source).fingerprints) == 297508434396509


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a small class in which two copied, one read the published answers."""
    out = tmp_path_factory.mktemp("out")
    rng = random.Random(9)
    stub = starter_of(LAB).open["generate"]
    head = stub[: stub.index("    # TODO")]
    works = {f"s{i}": head + program(rng).partition('"""\n')[2] for i in range(8)}
    works["bob<b>"] = works["s3"].replace("total", "mine")
    rows = []
    for name, text in works.items():
        notebook = blank()
        cell = next(c for c in notebook["cells"] if c["source"] == stub)
        cell["source"] = text
        rows.append(hand_in(out, name, notebook))
    rows.append(hand_in(out, "reader", solved()))
    source = out / "course" / "source" / LAB / f"{LAB}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_text(json.dumps(solved()))
    return out, rows, write_similarity(out, LAB, rows)


def alike(*names):
    return " and ".join(f"<bdi>{name}</bdi>" for name in names)


def test_the_page_names_those_who_are_alike_side_by_side(page):
    text = page[2].read_text()
    assert alike("bob&lt;b&gt;", "s3") in text
    assert "bob&lt;b&gt;</bdi>, <bdi>s3</bdi></a>" in text
    assert alike("reader", PUBLISHED.replace("'", "&#39;")) in text
    assert text.count("<mark>") > 4
    assert "s1</bdi> and" not in text


def test_a_module_that_was_copied_is_found(tmp_path):
    rng, cells = random.Random(3), build_notebook(find_lab(LAB), "student").cells
    modules = {f"s{i}": {"mem.py": program(rng).encode(), "a.csv": b"1,2"} for i in range(6)}
    copied = modules["s2"]["mem.py"].replace(b"total", b"mine")
    modules["bob"] = {"lib/tools.py": b"import torch\n" + copied}
    modules["zoe"] = {}
    rows = [result(student) for student in modules]
    with closing(CourseBook(tmp_path / "course")) as book:
        book.add_assignment(LAB, build_notebook(find_lab(LAB), "instructor"))
        for row in rows:
            book.record(row, cells, b"{}", modules[row.student])
    text = write_similarity(tmp_path, LAB, rows).read_text()
    assert alike("bob", "s2") in text and MODULES in text
    assert "s1" not in text and "zoe" not in text
    with closing(CourseBook(tmp_path / "course")) as book:
        book.record(rows[2], cells, b"{}")  # handed in again without it
    assert "No two students" in write_similarity(tmp_path, LAB, rows).read_text()


def test_members_of_a_group_are_no_pair(page):
    out, rows, path = page
    before = path.read_bytes()
    together = [replace(r, group="g") if r.student in ("s3", "bob<b>") else r for r in rows]
    try:
        assert alike("bob&lt;b&gt;", "s3") not in write_similarity(out, LAB, together).read_text()
    finally:
        path.write_bytes(before)


def test_a_class_without_notebooks_has_an_empty_page(tmp_path):
    assert "No two students" in write_similarity(tmp_path, LAB, [result("nobody")]).read_text()


PIECES = ["(", "'", "\\\n", "f'{", "\ud800", '"""', "@", "x.", "a=b\n"]


@pytest.mark.parametrize("piece", some_of(PIECES, "(", '"""', "a=b\n"))
def test_of_an_endless_text_only_the_beginning_is_read(piece):
    source = piece * (50_000 // len(piece))
    for text in (code_text(source), prose_text(source)):
        assert len(text.form) <= len(text.text) <= MAX_CHARS
        assert sum(map(len, text.fingerprints.values())) <= len(text.form)


def test_each_text_is_read_once_however_many_others_there_are(monkeypatch):
    n_read = Counter()

    def counted(source, *rest):
        n_read["texts"] += 1
        return filter_code(source, *rest)

    monkeypatch.setattr("autograder.pages.evidence.winnowing.filter_code", counted)
    for n in (10, 40):
        n_read.clear()
        pairs_of(classroom(n, random.Random(n)))
        assert n_read["texts"] == n + len(STARTER.open)


def pair(first, second, *exercises, weight=100.0):
    return Pair((first, second), [SharedText(name, weight, 0.9) for name in exercises])


def test_a_text_that_many_share_makes_one_group_with_its_closest_pairs():
    clique = [pair(f"s{i}", f"s{j}", "e", weight=100 + i + j) for i in range(8) for j in range(i)]
    apart = pair("x", "y", "e", weight=500)
    first, second = groups_of([*clique, apart])
    assert first.students == ["x", "y"]
    assert second.students == [f"s{i}" for i in range(8)]
    assert len(second.pairs) == 7
    assert second.exercises == [("e", 8, 0.9)]
    assert second.weight == 113


def test_groups_that_meet_later_are_joined():
    pairs = [pair("a", "b", "e", weight=9), pair("c", "d", "e", weight=8), pair("b", "c", "e")]
    [group] = groups_of(pairs)
    assert (group.students, len(group.pairs)) == (["a", "b", "c", "d"], 3)


def test_the_kits_own_answer_is_a_group_of_its_own():
    readers = [pair(name, PUBLISHED, "e") for name in ("ann", "bob", "cy")]
    among = [pair("ann", "bob", "e"), pair("ann", "cy", "e"), pair("bob", "cy", "e", "own")]
    published, rest = groups_of([*among, *readers])
    assert published.is_published
    assert published.students == ["ann", "bob", "cy"]
    assert rest.students == ["bob", "cy"]
    assert rest.exercises == [("own", 2, 0.9)]
    assert groups_of([]) == []
