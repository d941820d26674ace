"""Most wrong answers get messages that no other wrong answer to the exercise gets.

That no report says a sentence twice, test_matrix asks of each wrong answer.
"""

import pytest

from autograder.builder.source import find_lab
from autograder.labs.known import Mutant, mutants_of
from autograder.proof import messages
from labkit.checks.core import Check, Finding


@pytest.mark.parametrize("topic", ["memory", "throughput", "kv_cache", "batching"])
def test_nine_of_ten_wrong_answers_of_a_lab_are_told_apart(topic):
    lab = find_lab(topic)
    alike = messages.not_told_apart(messages.played(lab))
    assert 0 < len(alike) < 0.1 * len(mutants_of(lab))


def test_numbers_alone_tell_no_two_apart(monkeypatch, capsys):
    texts = ("a_parameter = 7", "a_parameter = 8", "raise KeyError")
    sources = [f"def weight_bytes(*args):\n    {text}\n    return a_parameter" for text in texts]
    made = [
        Mutant("weight_bytes", text, (), source)
        for text, source in zip(texts, sources, strict=True)
    ]
    monkeypatch.setattr(messages, "mutants_of", lambda lab: made)
    assert messages.not_told_apart(messages.played(find_lab("memory"))) == made[:2]
    messages.main(["01_memory"])
    out = capsys.readouterr().out
    assert "01_memory: 1 of 3 wrong answers (33%)" in out and texts[0] in out


def test_a_sentence_that_stands_twice_is_found():
    checks = [Check(name, "f", "It sorts.", "Sort.", 1, bool, print) for name in "ab"]
    findings = [Finding(check, "failed", f"{check.name} is wrong.") for check in checks]
    assert messages.said_twice(findings) == ["It sorts."]
    assert messages.said_twice(findings[:1]) == []
