"""An exercise that crashes or never ends: its cause is told first, once, and it alone is open.

In the notebook on open cases, on the feedback page on hidden ones.
"""

import ast
import re

import pytest
from instances import shown_labs, slow_unless

from autograder.builder.blank import rewrite_bodies
from autograder.builder.source import read_labs, solved_text
from autograder.labs import cases_of, right_of
from autograder.pages.feedback import write_feedback
from autograder.proof.matrix import namespace_of
from autograder.record.results import GRADED, CheckResult, Result
from labkit.bridge.local import local_student
from labkit.checks import notebook
from labkit.checks.card import as_html
from labkit.checks.core import checks_of, play_check, points_by_weight, share_of_points
from labkit.checks.notebook import Checker
from labkit.checks.unjudged import judged

FOLDED = re.compile(r"<details\b.*?</details>", re.DOTALL)
HINT = re.compile(r"<summary>hint</summary>(.*?)</details>", re.DOTALL)
CROSS, TICK = 'aria-label="failed"', 'aria-label="passed"'
BODIES = {
    "an exception": ('raise RuntimeError("x")', "RuntimeError: x"),
    "a wrong attribute": ("return {last}.no_such_thing", "no_such_thing"),
    "an endless loop": ("while True: pass", "still running after"),
}


def exercises():
    """(lab, exercise) for each; shown are the loops, and the first of each lab that is shown."""
    for lab in read_labs():
        for i, cell in enumerate(lab.exercises):
            is_shown = cell.name in ("PrefillLoop", "DecodeLoop") or (lab in shown_labs() and not i)
            name = f"{lab.name}-{cell.name}"
            yield pytest.param(lab, cell.name, id=name, marks=slow_unless(is_shown))


def broken(lab, exercise, body):
    """The solved cell, in which each function of the answer has this body instead."""
    cell = next(cell for cell in lab.exercises if cell.name == exercise)
    source = solved_text(cell)
    names = {
        f"{owner}{node.name}": [arg.arg for arg in node.args.args]
        for owner, nodes in bodies_in(ast.parse(source))
        for node in nodes
    }
    for name, arguments in names.items():
        last = arguments[-1] if arguments else "object()"
        line = body.format(last=last)
        source = rewrite_bodies(source, [name], lambda indent, _, line=line: [indent + line])
    return source


def bodies_in(tree):
    """The functions of a cell, with what stands before their names."""
    yield "", [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef):
            yield f"{kind.name}.", [node for node in kind.body if isinstance(node, ast.FunctionDef)]


def page_of(lab, exercise, findings, folder):
    """The feedback page of a submission with these findings: the section of the exercise."""
    full = points_by_weight([finding.check for finding in findings], 1)
    rows = [
        CheckResult(exercise, f.check.name, points, most, f.passed, f.message, f.check.claim,
                    f.check.hint, f.status, f.cause, f.expected, f.got, f.check.gate, f.case)
        for f, points, most in zip(findings, share_of_points(findings, 1), full, strict=True)
    ]  # fmt: skip
    page = write_feedback(folder, Result("lee", lab.name, GRADED, 0.0, 1.0, rows)).read_text()
    return page[page.index('<ul class="checks">') :]


def assert_one_cause_is_open(html, cause):
    shown = FOLDED.sub("", html)
    assert shown.count(CROSS) == 1, shown
    assert cause in shown.partition(CROSS)[2]
    assert html.count(CROSS) == 1, html
    hints = HINT.findall(html)
    assert len(hints) <= 1 and not any("<br>" in hint for hint in hints), hints
    assert "_StandIn" not in html and "_Callback" not in html


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize(("lab", "exercise"), list(exercises()))
def test_what_stops_the_code_is_told_once_and_nothing_else_is_open(
    lab, exercise, what, tmp_path, monkeypatch
):
    body, cause = BODIES[what]
    if what == "an endless loop":
        monkeypatch.setattr(notebook, "LIMIT_S", 0.3)
    namespace = namespace_of(lab, {exercise: broken(lab, exercise, body)})

    report = Checker(lab.topic, namespace)(exercise, points=1)
    assert_one_cause_is_open(as_html(exercise, report.findings, 1), cause)
    assert report.earned == 0

    if what != "an endless loop":  # behind the wall, test_session shows that
        cases, right = cases_of(lab.topic, 0)[exercise], right_of(lab.topic)
        checks, student = checks_of(lab.topic)[exercise], local_student(namespace)
        found = [play_check(each, student, cases, hidden=True, right=right) for each in checks]
        findings = judged(found)
    else:
        findings = report.findings
    assert_one_cause_is_open(page_of(lab, exercise, findings, tmp_path), cause)
