"""Every sentence that people read keeps to the style of CONTRIBUTING.md.

A failure lists, rule by rule, the sentences and where they stand.
"""

from statistics import median

import pytest
from prose import DOCS, LABS, PROGRAM, Sentence, grade, markdown_passages, sentences_of, split
from prose_rules import broken, report

from autograder.places import lab_names
from labkit.checks.core import checks_of

PARTS = {"documents": DOCS, "commands_pages_and_messages": PROGRAM, "labs": LABS}
MOST_WORDS, HIGHEST_GRADE = 15, 9  # of half the sentences of a notebook; as a school year
BROKEN = {
    "It stands behind the last token.": "say after, below or with",
    "The text has the law of the target.": "say distribution, rule or formula",
    "Which one was taken is told.": "say reported, named or given",
    "A batch loads whoever fits.": "name the person, or say the request",
    "Take the oldest request who fits.": "a request is it: say that or which",
    "All who wait are looked at.": "a request is it: name it",
    "In earnest there are two servers.": "use a plain word",
    "What is left is divided by its sum.": "begin with the thing itself: the X that ...",
    "Then one token less, down to one.": "a sentence needs a verb",
    "314 s, 43.7, 12.8, 6.8.": "a number is no sentence: say what it counts",
    "Never is a block copied.": "put the subject first",
    "One token; two tokens; three tokens are drafted.": (
        "one semicolon at most: put one idea into a sentence"
    ),
    " ".join(["word"] * 31): "30 words at most: make two sentences",
}
PLAIN = (
    "If nothing was drafted, return 0.",
    "Student code runs behind the wall.",
    "Which length is looked for first?",
    "The step takes 12 ms.",
)


def sentence(text):
    return Sentence("here", 1, text)


@pytest.mark.parametrize("part", PARTS)
def test_every_sentence_keeps_to_the_style(part):
    sentences = sentences_of(*PARTS[part])
    assert len(sentences) > 100
    assert report(sentences) == ""


@pytest.mark.parametrize("lab", lab_names())
def test_the_notebook_of_each_lab_is_easy_to_read(lab):
    whole = [each for each in sentences_of(f"notebooks/source/{lab}.py") if each.is_whole]
    assert median(len(each.words) for each in whole) <= MOST_WORDS
    assert grade(whole) <= HIGHEST_GRADE


@pytest.mark.parametrize("lab", lab_names())
def test_a_hint_is_an_action_and_no_question(lab):
    checks = [each for group in checks_of(lab.partition("_")[2]).values() for each in group]
    assert [(each.exercise, each.name) for each in checks if "?" in each.hint] == []


@pytest.mark.parametrize("text", BROKEN)
def test_each_rule_finds_the_sentence_that_breaks_it(text):
    assert BROKEN[text] in broken(sentence(text))


@pytest.mark.parametrize("text", PLAIN)
def test_plain_sentences_may_stay(text):
    assert broken(sentence(text)) == set()


def test_prose_is_what_is_left_without_code_tables_of_numbers_and_formulas():
    text = "One `x = 1` is\nset. See [a page](b.md).\n\n```\ncode\n```\n| a row | 12 |\n$$\nx\n$$\n"
    found = [part for _, passage in markdown_passages(text) for part in split(passage)]
    assert found == ["One `x` is set.", "See a page.", "a row"]


def test_the_grade_of_short_words_in_short_sentences_is_low():
    easy = [sentence("The cache stores the keys."), sentence("It is fast.")]
    hard = [sentence("Notwithstanding considerable architectural heterogeneity, " * 3)]
    assert grade(easy) < 3 < 20 < grade(hard)
