"""`autograder oral`: keys that are true, two students with two sheets, refusals in one sentence."""

import ast
import csv
import html
import json
import re
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from classroom import blank, hand_in, solved
from instances import some_of
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.grading.pool import SteadySlot, uid_of
from autograder.grading.slot_files import write_slot_files
from autograder.intake.collect import Submission
from autograder.intake.read import Unreadable
from autograder.judging.asking import search
from autograder.judging.asking.edits import TIMES, slips_of, swaps_of
from autograder.judging.asking.sheet import BLANK, CHANGE, KINDS, LINE, SWAP, TRACE, Order, Sheet
from autograder.judging.jobs import SlotSettings
from autograder.judging.wall import strongest_rung
from autograder.labs import cases_of
from autograder.oral.write import LIMITS, NOTHING, orders_of
from autograder.proof.matrix import namespace_of
from autograder.record.results import CheckResult
from labkit.checks.core import checks_of, open_cases_of
from labkit.checks.why.asked import play_here
from labkit.checks.why.changes import definition_in, unchanged

LAB = "01_memory"
SEED = 1
HALF = """\
def largest_model(vram_bytes, overhead_bytes=0, bytes_per_param=2):
    if bytes_per_param <= 0:
        raise ValueError("at least one byte")
    left_bytes = vram_bytes - overhead_bytes
    n_params = left_bytes // bytes_per_param
    if n_params < 0:
        n_params = 0
    return int(n_params)
"""
SWAPPED = (
    HALF.partition("    left_bytes")[0]
    + """\
    left_bytes = vram_bytes
    n_least = 0
    left_bytes -= overhead_bytes
    n_most = vram_bytes
    left_bytes //= bytes_per_param
    return int(max(n_least, min(n_most, left_bytes)))
"""
)
HOSTILE = {
    "one line": "def largest_model(v, o=0, b=2): return max(0, (v - o) // b if b > 0 else int(''))",
    "random when changed": HALF.replace("    left_bytes", """\
    import os
    seven = 7
    if seven != 7:
        return int.from_bytes(os.urandom(4), "big")
    left_bytes"""),
    "endless when changed": HALF.replace("    left_bytes", """\
    while bytes_per_param < 1:
        vram_bytes = vram_bytes + 1
    i = 0
    while i != 3:
        i += 1
    left_bytes"""),
    "ends its process when changed": HALF.replace("    left_bytes", """\
    import os
    if 3 != 3:
        os._exit(0)
    left_bytes"""),
    "draws numbers": HALF.replace("    left_bytes", """\
    import torch
    n_drawn = int(torch.randint(0, 9, ())) + bytes_per_param
    left_bytes"""),
    "reads its source": HALF.replace("    left_bytes", """\
    import inspect
    if "overhead_bytes\\n    n_params" not in inspect.getsource(largest_model):
        return vram_bytes
    left_bytes"""),
    "counts on the disk": HALF.replace("    left_bytes", """\
    with open("calls.txt", "a+") as file:
        file.write("x")
        n_calls = file.tell()
    if n_calls > 100:
        return n_calls
    left_bytes"""),
    "recursive": HALF.replace("    if n_params < 0:", """\
    if vram_bytes > 0 and overhead_bytes < 0:
        return largest_model(vram_bytes - overhead_bytes, 0, bytes_per_param)
    if n_params < 0:"""),
    "halves itself": HALF.replace("    left_bytes = ", """\
    if overhead_bytes:
        rest = largest_model(vram_bytes - overhead_bytes, 0, bytes_per_param)
        return rest
    left_bytes = """),
    "5,000 digits": HALF.replace("    if n", f"    n_params += 0x{'f' * 5000} * 0\n    if n"),
    "gigantic": HALF.replace("    left_bytes", "    vram_bytes += 0\n" * 3000 + "    left_bytes"),
    "nested deep": HALF.replace("vram_bytes - o", "vram_bytes" + " + 0" * 2000 + " - o"),
}  # fmt: skip

# The others take seconds each. The rewritten code runs there again and again, or up to a limit.
QUICK = ("random when changed", "ends its process when changed", "reads its source",
         "counts on the disk", "gigantic")  # fmt: skip


@contextmanager
def slot_of(lab, folder):
    files = write_slot_files(lab, folder)
    settings = SlotSettings(
        lab=lab.name, **files, seed=SEED, rung=strongest_rung(), uid=uid_of(0), **LIMITS
    )
    with closing(SteadySlot(settings)) as slot:
        yield slot


@pytest.fixture(scope="module")
def slot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slot")
    folder.chmod(0o755)
    for parent in folder.parents:
        if parent.stat().st_uid == folder.stat().st_uid and len(parent.parts) > 2:
            parent.chmod(0o755)
    with slot_of(find_lab(LAB), folder) as slot:
        yield slot


def content_of(**texts):
    return json.dumps(solved(LAB, **texts)).encode()


def sheet_of(slot, seed="ann", green=None, **texts):
    lab = find_lab(LAB)
    names = green or tuple(cell.name for cell in lab.exercises)
    submission = Submission("ann", f"{LAB}.ipynb", content_of(**texts))
    return slot.ask(Order(submission, names, seed, str(SEED)))


def cells_of(**texts):
    return ["".join(cell["source"]) for cell in solved(LAB, **texts)["cells"]]


def claims_after(question, source, cases_by_exercise):
    """What the checks say in this process, by claim, for the changes that the question may mean."""
    namespace = namespace_of(find_lab(LAB))
    checks = checks_of("memory")[question.exercise]
    play = play_here(namespace, checks, cases_by_exercise[question.exercise])
    changed = definitions_of(question, source)
    assert len(changed) == 1
    return [{each.check.claim: each.status for each in play(one)} for one in changed]


def definitions_of(question, source):
    """The definitions that a sentence may mean: it names a line, and an expression of it."""
    lines = question.edit.removeprefix("lines ").split(" and ")
    if "change places" in question.sentence:
        return [each.definition for each in swaps_of(source, question.exercise)
                if [*map(str, each.lines)] == lines]  # fmt: skip
    text, _, instead = question.edit.partition("\n# changed to:\n")
    named = re.search(r"\(lines? (\d+).*?\)(?:, `(.*?)` becomes `(.*?)`)?", question.sentence)
    assert named[1] == str(question.line)
    if instead:
        assert text.count(named[2]) >= 1 and named[3] in instead
    return [
        each.definition
        for each in slips_of(source, question.exercise)
        if (each.line, each.text, each.instead) == (question.line, text, instead)
    ]


def result_of(play, definition):
    """What the last line of a play gives in this process."""
    names = namespace_of(find_lab(LAB)) | {"SimpleNamespace": SimpleNamespace}
    exec(compile(definition, "changed", "exec"), names)
    lines, _, last = play.rpartition("\n")
    try:
        exec(lines, names)
        return str(eval(last, names)).replace("_", "")
    except Exception as error:
        return f"it raises {type(error).__name__}"


def is_true(question, source):
    """Whether a key is right, found out without the wall and by other code."""
    key = question.options[question.right]
    if question.kind in (LINE, CHANGE) and "one of these claims" in question.sentence:
        return all(
            any(
                found[key] == "failed"
                and all(found[each] == "passed" for each in question.options if each != key)
                for found in claims_after(question, source, cases)
            )
            for cases in (open_cases_of("memory"), cases_of("memory", SEED))
        )
    play = question.code
    call = re.search(r"`(\w+\(.*?\))`", question.sentence)
    if question.kind == TRACE:
        return traced(source, question, call[1] if call else play) == key.replace("_", "")
    if question.kind == SWAP:
        return swaps_are_told(question, source)
    changed = definitions_of(question, source)
    if "give then" in question.sentence:
        found = [result_of(play or call[1], each) for each in changed]
        return key.replace("_", "") in found
    own = unchanged(source, question.exercise)
    stays = "still gives" in question.sentence
    return question.kind == LINE and any(
        [result_of(each, own) == result_of(each, one) for each in question.options]
        == [(i == question.right) == stays for i in range(len(question.options))]
        for one in changed
    )


def swaps_are_told(question, source):
    """Whether the checks say of the swap that is the key what they say of no other option."""
    play = play_here(
        namespace_of(find_lab(LAB)),
        checks_of("memory")[question.exercise],
        open_cases_of("memory")[question.exercise],
    )
    by_option = {
        f"lines {one} and {other}": all(each.passed for each in play(swap.definition))
        for swap in swaps_of(source, question.exercise)
        for one, other in [swap.lines]
    }
    does_pass = "still pass" in question.sentence
    return [by_option[each.partition(":")[0]] == does_pass for each in question.options] == [
        i == question.right for i in range(len(question.options))
    ]


def traced(source, question, play):
    """The value of a variable after the line that is asked about, noted by code there."""
    tree = ast.parse(unchanged(source, question.exercise))
    variable, line, time = re.search(
        r"What is `(.+?)` .* \(line (\d+)\) .* (\w+) time\?", question.sentence
    ).groups()
    assert line == str(question.line)
    for node in ast.walk(tree):
        for block in (getattr(node, name, []) for name in ("body", "orelse")):
            lines = [each.lineno for each in block] if isinstance(block, list) else []
            if question.line in lines:
                note = ast.parse(f"seen.append(str({variable}))").body[0]
                block.insert(lines.index(question.line) + 1, note)
                break
    names, seen = namespace_of(find_lab(LAB)), []
    space = names | {"seen": seen, "SimpleNamespace": SimpleNamespace}
    exec(compile(ast.fix_missing_locations(tree), "traced", "exec"), space)
    lines, _, last = play.rpartition("\n")
    exec(lines, space)
    eval(last, space)
    return seen[TIMES.index(time)]


def test_the_keys_are_true_and_equal_code_has_other_questions_for_another_student(slot):
    cells = cells_of(largest_model=HALF)
    sheets = [sheet_of(slot, seed, largest_model=HALF) for seed in ("ann", "bob", "eve")]
    for sheet in sheets:
        assert not sheet.problem and len(sheet.questions) >= 3
        assert sheet.seconds < 20  # on a busy machine; about 2 alone
        for question in sheet.questions:
            assert is_true(question, definition_in(cells, question.exercise)), question
            assert len(set(question.options)) == len(question.options) == 4
            assert f"{question.line:>3}  " in dict(sheet.code)[question.exercise]
    asked = [{(each.exercise, each.kind, each.line, each.code) for each in sheet.questions}
             for sheet in sheets]  # fmt: skip
    assert asked[0] != asked[1] != asked[2]
    assert sheet_of(slot, "ann", largest_model=HALF).questions == sheets[0].questions


def test_in_a_class_no_question_dominates_and_keys_are_everywhere(slot):
    asked = [each for i in range(12) for each in sheet_of(slot, f"student {i}").questions]
    assert len(asked) == 12 * 6
    texts = Counter((each.exercise, each.sentence, each.code) for each in asked)
    assert len(texts) > 0.8 * len(asked) and max(texts.values()) < 4
    letters = Counter(each.letter for each in asked)
    assert min(letters[each] for each in "ABCD") > 8  # of 72; fewer in 1 of 300 classes
    assert Counter(each.exercise for each in asked)["n_params"] >= 12  # the largest one


def test_each_kind_is_asked_with_a_true_key(slot):
    found = {}
    for seed in range(12):
        sheet = sheet_of(slot, f"seed {seed}", ("largest_model",), largest_model=HALF)
        found |= {each.kind: each for each in sheet.questions}
        if {LINE, CHANGE, TRACE} <= found.keys():
            break
    assert {LINE, CHANGE, TRACE} <= found.keys()
    assert all(is_true(each, HALF) for each in found.values())


def test_of_four_swaps_one_differs(slot):
    sheets = (
        sheet_of(slot, f"seed {seed}", ("largest_model",), largest_model=SWAPPED)
        for seed in range(12)
    )
    asked = next(each for sheet in sheets for each in sheet.questions if each.kind == SWAP)
    assert is_true(asked, SWAPPED)
    assert not is_true(replace(asked, right=(asked.right + 1) % 4), SWAPPED)


@pytest.mark.parametrize("how", some_of(HOSTILE, *QUICK))
def test_hostile_code_gets_no_wrong_key(slot, how):
    source = HOSTILE[how]
    for seed in ("ann", "bob"):
        sheet = sheet_of(slot, seed, ("largest_model",), largest_model=source)
        assert sheet.seconds < 30
        for question in sheet.questions:
            if how in ("reads its source", "counts on the disk"):  # here it has no wall and no cell
                assert question.right < len(question.options)
            else:
                assert is_true(question, source), question
        assert not any("What is `n_drawn`" in each.sentence for each in sheet.questions)
        random = [each for each in sheet.questions if "seven != 7" in each.edit]
        assert not any("give then" in each.sentence for each in random)


def test_a_sheet_is_the_same_after_its_way_through_the_slot():
    from autograder.judging.asking.sheet import Question

    sheet = Sheet((Question("f", LINE, 3, "Which?", ("a", "b"), 1, "x", "y"),), (("f", "x"),), 0.5)
    assert Sheet.from_fields(json.loads(json.dumps(sheet.as_fields()))) == sheet
    assert sheet.questions[0].letter == "B"
    for wrong in ({"questions": 3}, {"other": 1}, {"questions": [{"kind": 1}]}):
        with pytest.raises(ValueError, match="not a sheet"):
            Sheet.from_fields(wrong)


def checked(green):
    """Check results of a lab in which these exercises pass."""
    return [
        CheckResult(name, each.name, 0.0, 1.0, name in green, "", each.claim, each.hint,
                    "passed" if name in green else "todo")
        for name, checks in checks_of("memory").items()
        for each in checks
    ]  # fmt: skip


@pytest.fixture
def out(tmp_path):
    names = tuple(cell.name for cell in find_lab(LAB).exercises)
    rows = [
        hand_in(tmp_path, "ann", solved(LAB), LAB, checks=checked(names)),
        hand_in(tmp_path, "cara", blank(LAB), LAB, checks=checked(())),
        hand_in(tmp_path, "eve<b>", solved(LAB, largest_model=HALF), LAB,
                checks=checked(("largest_model",))),
    ]  # fmt: skip
    text = "".join(f"{each.to_json()}\n" for each in rows)
    (tmp_path / "results.jsonl").write_text(text)
    (tmp_path / "seed").write_text("7\n")
    return tmp_path


def oral(*arguments):
    return CliRunner().invoke(app, ["oral", *map(str, arguments)])


def test_the_pages_of_a_class_and_what_was_said(out):
    said = oral(out, "01", "--jobs", "1")
    folder = out / "oral" / LAB
    assert said.exit_code == 0 and said.output.strip() == str(folder / "index.html"), said.output
    sheet, key = ((folder / place / "ann.html").read_text() for place in ("sheets", "keys"))
    assert "← the key" in key and "Two minutes for the TA" in key
    assert "def n_params" in key and "def n_params" not in sheet  # who wrote it knows it
    assert "the key" not in sheet and "Its check says" not in sheet and 'class="total"' not in sheet
    cara = html.unescape((folder / "sheets" / "cara.html").read_text())
    assert NOTHING in cara and checks_of("memory")["n_params"][0].claim.split("`")[0] in cara
    assert "eve&lt;b&gt;" in (folder / "index.html").read_text()
    table = folder / "answers.csv"
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert {row["student"] for row in rows} == {"ann", "cara", "eve<b>"}
    assert {row["kind"] for row in rows if row["student"] == "cara"} == {BLANK}
    assert {row["kind"] for row in rows} <= set(KINDS)
    first = next(row for row in rows if row["student"] == "ann")
    first["said"] = "a" if first["key"] != "A" else "b"
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, first)
        writer.writeheader()
        writer.writerows(rows)
    assert oral(out, "01", "--jobs", "1").exit_code == 0
    assert next(csv.DictReader(table.read_text().splitlines()))["said"] == first["said"]
    index = (folder / "index.html").read_text()
    assert 'data-label="missed">1<' in index
    forgotten = CliRunner().invoke(app, ["forget", str(out), "ann"])
    assert forgotten.exit_code == 0 and not list(folder.rglob("ann.html"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["01", "02"], "a sheet is about one lab, and these are 2"),
        (["03"], "holds no results of 03_cache_benchmark: grade it first"),
        (["nothing"], "nothing"),
    ],
)
def test_a_wrong_order_is_refused_in_one_sentence(out, arguments, told):
    said = oral(out, *arguments)
    assert said.exit_code == 2 and told in said.output
    assert said.output.count("\n") == 1


def test_a_missing_folder_and_one_without_notebooks_are_refused(out, tmp_path):
    said = oral(tmp_path / "nowhere", "01")
    assert said.exit_code == 2 and "grade it first" in said.output
    assert not (tmp_path / "nowhere").exists()
    for path in out.glob("course/submitted/*/*/*.ipynb"):
        path.unlink()
    said = oral(out, "01")
    assert (
        said.exit_code == 2 and "keeps no notebook of 01_memory: grade it once more" in said.output
    )
    assert said.output.count("\n") == 1 and not (out / "oral").exists()


def test_a_table_with_other_columns_is_refused_and_stays(out):
    table = out / "oral" / LAB / "answers.csv"
    table.parent.mkdir(parents=True)
    table.write_text("student,said\nann,B\n")
    said = oral(out, "01", "--jobs", "1")
    assert said.exit_code == 2 and "needs the columns" in said.output
    assert table.read_text() == "student,said\nann,B\n"


def test_what_passed_is_asked_about_with_the_hidden_cases_that_it_passed(tmp_path):
    rows = [
        hand_in(tmp_path, name, solved(LAB), LAB, versions={"seed": f"cases of {name}"})
        for name in ("ann", "bob")
    ]

    def rehearse(submission, seed):
        raise Unreadable(f"{submission.student} has the {seed}")

    judge = SimpleNamespace(rehearse=rehearse)
    for name, order in orders_of(tmp_path, find_lab(LAB), rows, "7").items():
        assert order.packed()["oral"]["cases"] == f"cases of {name}"
        assert f"{name} has the cases of {name}" in search.sheet_of(judge, order).problem
