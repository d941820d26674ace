"""Which wrong answers are told apart, and what a report says twice: how both are found.

What comes out for the labs' wrong answers, test_matrix asks.
"""

from autograder.builder.source import find_lab
from autograder.labs.known import Mutant
from autograder.proof import messages
from labkit.checks.core import Check, Finding


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
