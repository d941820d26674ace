"""Sheets of oral questions from a slot, and whether their keys are true, by other code."""

import ast
import json
import re
from contextlib import closing, contextmanager
from types import SimpleNamespace

from classroom import solved

from autograder.builder.source import find_lab
from autograder.grading.pool import SteadySlot, uid_of
from autograder.grading.slot_files import write_slot_files
from autograder.intake.collect import Submission
from autograder.judging.asking.edits import TIMES, slips_of, swaps_of
from autograder.judging.asking.sheet import CHANGE, LINE, SWAP, TRACE, Order
from autograder.judging.jobs import SlotSettings
from autograder.judging.wall import strongest_rung
from autograder.labs import cases_of
from autograder.oral.write import LIMITS
from autograder.proof.matrix import namespace_of
from labkit.checks.core import checks_of, open_cases_of
from labkit.checks.why.asked import play_here
from labkit.checks.why.changes import unchanged

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


@contextmanager
def slot_of(lab, folder):
    files = write_slot_files(lab, folder)
    settings = SlotSettings(
        lab=lab.name, **files, seed=SEED, rung=strongest_rung(), uid=uid_of(0), **LIMITS
    )
    with closing(SteadySlot(settings)) as slot:
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
    if "What is the value of" in question.sentence:
        found = [result_of(play or call[1], each) for each in changed]
        return key.replace("_", "") in found
    own = unchanged(source, question.exercise)
    stays = "the same result" in question.sentence
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
    line, _, time, variable = re.search(
        r"\(line (\d+)\) has finished( for the (\w+) time)?\. What is `(.+?)` at that moment",
        question.sentence,
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
    assert time or len(seen) == 1
    return seen[TIMES.index(time or TIMES[0])]
