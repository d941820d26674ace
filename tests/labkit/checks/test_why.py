"""`check.why` asks about the student's own code, and its key comes from the checks."""

import sys
from dataclasses import replace

import pytest

from autograder.builder.source import read_labs, solved_text
from autograder.proof.matrix import namespace_of
from labkit.checks.core import Finding, checks_of, open_cases_of
from labkit.checks.notebook import Checker
from labkit.checks.why.asked import play_here, question_in, questions_of, runs_here
from labkit.checks.why.changes import changes_of, definition_in, unchanged

LABS = {lab.topic: lab for lab in read_labs()}
CLAMP = '''\
import math


def clamp(x, low=0):
    """Keep x above low."""
    if x < low:
        return low
    while False: pass
    return x + 1
'''


def cell_of(topic, name):
    cell = next(cell for cell in LABS[topic].cells if cell.name == name)
    return cell.text or solved_text(cell)


@pytest.fixture(scope="module")
def memory():
    namespace = namespace_of(LABS["memory"])
    return namespace | {"In": ["", "1 + 1", cell_of("memory", "n_params"), "n_params(config)"]}


def test_each_change_leaves_out_one_statement_or_is_one_slip():
    found = [(each.line, each.text, each.instead) for each in changes_of(CLAMP, "clamp")]
    assert found == [
        (6, "if x < low:\n    return low", ""),
        (6, "if x < low:", "if x <= low:"),
        (7, "return low", ""),
        (8, "while False: pass", ""),
        (9, "return x + 1", ""),
        (9, "return x + 1", "return x"),
    ]
    for each in changes_of(CLAMP, "clamp"):
        compile(each.definition, "changed", "exec")
        assert each.definition.startswith("\n\n\ndef clamp") and "math" not in each.definition
        assert each.definition.endswith("\n    pass") or "return x" in each.definition


def test_the_newest_cell_that_defines_a_name_is_asked_about():
    cells = ["def f():\n    return 1", "f = 3", "def f():\n    return 2", "f()"]
    assert definition_in(cells, "f") == cells[2]
    assert definition_in(["f = 3"], "f") == "" == definition_in(["def f(:"], "f")


def test_the_key_is_what_the_checks_find(memory):
    checks, cases = checks_of("memory")["n_params"], open_cases_of("memory")["n_params"]
    play = play_here(memory, checks, cases)
    questions = list(questions_of(changes_of(memory["In"][2], "n_params"), play))
    assert len(questions) >= 3
    before = memory["n_params"]
    for asked in questions:
        status = {each.check.claim: each.status for each in play(asked.change.definition)}
        assert status[asked.claims[asked.right]] == "failed"
        others = [claim for i, claim in enumerate(asked.claims) if i != asked.right]
        assert {status[claim] for claim in others} == {"passed"}
    assert memory["n_params"] is before


@pytest.mark.parametrize("statuses", ["pppp", "ffff", "fffp"])
def test_a_change_that_breaks_nothing_or_nearly_all_gives_no_question(statuses):
    checks = checks_of("memory")["n_params"][:4]
    kinds = {"p": "passed", "f": "failed"}
    found = [Finding(check, kinds[one]) for check, one in zip(checks, statuses, strict=True)]
    assert not list(questions_of(changes_of(CLAMP, "clamp"), lambda definition: found))


GUARDS = """\
def f(x):
    if x < 0:
        raise ValueError(x)
    if x == 0:
        return 1
    y = x
    return y + 1
"""


def test_a_change_that_says_itself_what_breaks_gives_no_question():
    plain = {(each.line, each.instead) for each in changes_of(GUARDS, "f") if each.says_itself}
    assert plain == {
        (2, ""),
        (2, "if x <= 0:"),
        (2, "if x < 1:"),
        (3, ""),
        (4, ""),
        (5, ""),
        (7, ""),
    }
    checks = checks_of("memory")["n_params"][:4]
    found = [Finding(checks[0], "failed"), *(Finding(check, "passed") for check in checks[1:])]
    asked = list(questions_of(changes_of(GUARDS, "f"), lambda definition: found))
    assert asked and not any(each.change.says_itself for each in asked)


def test_a_crash_and_a_claim_with_the_words_of_the_line_are_no_keys():
    checks = checks_of("memory")["n_params"][:4]
    held = [Finding(check, "passed") for check in checks[1:]]
    change = changes_of(CLAMP, "clamp")[0]
    assert question_in(change, [Finding(checks[0], "failed"), *held])
    crash = Finding(checks[0], "failed", cause="the code raises IndexError")
    assert question_in(change, [crash, *held]) is None
    named = replace(change, text="x = qk_norm")
    [of_norms] = [each for each in checks if "qk_norm" in each.claim]
    others = [Finding(each, "passed") for each in checks if each is not of_norms]
    assert question_in(named, [Finding(of_norms, "failed"), *others]) is None
    telling = replace(change, text=checks[0].claim)
    assert question_in(telling, [Finding(checks[0], "failed"), *held]) is None


def test_only_claims_whose_check_runs_the_line_are_options():
    checks = checks_of("memory")["n_params"][:5]
    found = [Finding(checks[0], "failed"), *(Finding(check, "passed") for check in checks[1:])]
    change = changes_of(CLAMP, "clamp")[1]
    runs = {check.name: {change.line} for check in checks[:3]}
    [asked] = questions_of([change], lambda definition: found, runs=runs)
    assert set(asked.claims) == {check.claim for check in checks[:3]}
    runs.popitem()
    assert not list(questions_of([change], lambda definition: found, runs=runs))


def test_the_lines_that_run_in_a_check_are_noted(memory):
    checks, cases = checks_of("memory")["n_params"], open_cases_of("memory")["n_params"]
    source, before = memory["In"][2], sys.gettrace()
    runs = runs_here(memory, checks, cases, unchanged(source, "n_params"))
    lines = range(1, len(source.splitlines()) + 1)
    assert {*runs} == {check.name for check in checks}
    assert all(own and own <= {*lines} for own in runs.values())
    assert sys.gettrace() is before


def test_what_changed_code_prints_is_not_shown(memory, capsys):
    play = play_here(memory, checks_of("memory")["n_params"], open_cases_of("memory")["n_params"])
    play("def n_params(config):\n    print('noise')\n    return 1, 1")
    assert capsys.readouterr() == ("", "")


def test_code_that_raises_or_never_ends_gives_no_question(memory, monkeypatch):
    def play(definition):
        raise TimeoutError

    assert not list(questions_of(changes_of(CLAMP, "clamp"), play))
    monkeypatch.setattr("labkit.checks.why.asked.LIMIT_S", 0.2)
    checks, cases = checks_of("memory")["n_params"], open_cases_of("memory")["n_params"]
    endless = "def n_params(config):\n    while True:\n        pass"
    with pytest.raises(TimeoutError):
        play_here(memory, checks, cases)(endless)


def test_a_question_is_asked_answered_and_followed_by_another(memory):
    check = Checker("memory", memory)
    first = check.why("n_params")
    assert str(first) == str(check.why("n_params"))  # it stays open
    asked = first.question
    assert "<ol>" in first._repr_mimebundle_()["text/html"]
    assert all(claim in str(first) for claim in asked.claims)
    for wrong in (0, len(asked.claims) + 1, "1"):
        with pytest.raises(ValueError, match="wanted a number from 1 to"):
            check.why("n_params", wrong)
    said = str(check.why("n_params", asked.right + 1))
    assert said.startswith("Right. Its check says:") and asked.finding.message in said
    second = check.why("n_params").question
    assert second != asked
    wrong = (second.right + 1) % len(second.claims)
    assert f"No, it is claim {second.right + 1}." in str(check.why("n_params", wrong + 1))


def test_all_questions_are_asked_once_and_then_there_are_no_more(memory):
    check, seen = Checker("memory", memory), []
    while (asked := check.why("n_params").question) is not None:
        assert asked.change not in seen
        seen.append(asked.change)
        check.why("n_params", 1)
    assert "No other line of `n_params` gives a question" in str(check.why("n_params", 1))


def test_code_that_does_not_pass_is_asked_nothing(memory):
    wrong = "def n_params(config):\n    return 1, 1"
    names = dict(memory)
    exec(wrong, names)
    shown = Checker("memory", names | {"In": [wrong]}).why("n_params")
    assert shown.question is None and "make all checks of `n_params` pass" in str(shown)
    with pytest.raises(ValueError, match="no exercise 'nothing'"):
        Checker("memory", memory).why("nothing")


def test_a_green_report_invites_to_a_question(memory):
    report = Checker("memory", memory)("n_params", points=2)
    assert "check.why" in report.below
    names = {name: value for name, value in memory.items() if name != "In"}
    assert "check.why" not in Checker("memory", names)("n_params", points=2).below


def test_a_comment_or_chinese_text_beside_a_statement_keeps_it_apart():
    source = (
        'def f(n):\n    n += 1  # one more\n    print("區塊已經全部用完"); n += 1\n    return n'
    )
    cut = [each.text for each in changes_of(source, "f") if not each.instead]
    assert cut == ["n += 1  # one more", "return n"]


def test_a_cell_that_is_not_what_the_notebook_has_is_asked_nothing(memory):
    newer = memory["In"][2].replace("def n_params", "stop = undefined\n\n\ndef n_params")
    broken = newer.replace("return ", "return 1 + ")
    shown = Checker("memory", memory | {"In": [memory["In"][2], broken]}).why("n_params")
    assert shown.question is None and "does not pass by itself" in str(shown)
    assert "is no function or class" in str(Checker("memory", memory).why("kv_cache_bytes"))


def test_slow_checks_end_the_search_and_a_students_interrupt_ends_it_at_once():
    def slow(definition):
        played.append(definition)
        raise TimeoutError

    def stop(definition):
        raise KeyboardInterrupt

    played = []
    assert not list(questions_of(changes_of(CLAMP, "clamp"), slow)) and len(played) == 3
    with pytest.raises(KeyboardInterrupt):
        list(questions_of(changes_of(CLAMP, "clamp"), stop))


def test_a_memo_of_the_notebook_is_not_written_by_changed_code(memory):
    names = memory | {"SEEN": {}}
    play = play_here(names, checks_of("memory")["n_params"], open_cases_of("memory")["n_params"])
    play("def n_params(config):\n    SEEN[1] = 1\n    return 1, 1")
    assert names["SEEN"] == {}
