"""Which wrong answers are told apart, and what a report says twice: how both are found.

What comes out for the labs' wrong answers, test_matrix asks.
"""

from told_apart import not_told_apart, said_twice

from autograder.builder.source import find_lab
from autograder.proof.matrix import findings_for
from labkit.checks.core import Check, Finding
from tests.known import Mutant


def test_numbers_alone_tell_no_two_apart():
    texts = ("a_parameter = 7", "a_parameter = 8", "raise KeyError")
    sources = [f"def largest_model(*args):\n    {text}\n    return a_parameter" for text in texts]
    made = [
        Mutant("largest_model", text, (), source)
        for text, source in zip(texts, sources, strict=True)
    ]
    lab = find_lab("memory")
    answers = [
        (each, findings_for(lab, each.exercise, {each.exercise: each.source})) for each in made
    ]
    assert not_told_apart(answers) == made[:2]


def test_a_sentence_that_stands_twice_is_found():
    checks = [Check(name, "f", "It sorts.", "Sort.", 1, bool, print) for name in "ab"]
    findings = [Finding(check, "failed", f"{check.name} is wrong.") for check in checks]
    assert said_twice(findings) == ["It sorts."]
    assert said_twice(findings[:1]) == []
