"""Every number that a question or a reason of lab 8 states is of a paper, a record, or computed."""

import re
from math import floor, log10

import pytest

from labkit.labs.papers.items import LANGUAGES
from tests.known.papers import every_item, every_key
from tests.known.papers.stated import CHOSEN, DERIVED, PAPERS, RECORDS
from tests.labs.papers.test_papers_audits import COMPUTED

EVERY, KEYS = every_item(), every_key()
PART = r"\d[\d,]*(?:\.\d+)?"
NUMBER = re.compile(rf"(?<![\w.\-^]){PART}(?![\w])")
# What names a place or a thing, and so is no number: "section 3.1", "Tables 1 to 3", "第 6 行".
PLACE = re.compile(
    r"(?:[Ss]ections?|Tables?|[Ee]quation|[Tt]heorem|Figure|lines?|Algorithm|Proposition|appendix"
    r"|[Ll]ab|Q|Llama|RTX|定理|式|第|arXiv|decoding,|decoding，) ?\(?[\d.]+(?:-\d[\d.]*B?)?\)?"
    r"(?:(?:, | and | to |、| 與 | 到 )[\d.]+)*|[\d.]+ (?:節|章)"
)
# "(99.3 − 90) / (99.3 − 87.3) = 0.775": at least one sign on the left, no word, none on the right.
EQUATION = re.compile(
    rf"(?<![/^×·+−] )(?<![\w.,^])([\d(][\d,.()×/+−·^² ]*?[×/+−][\d,.()×/+−·^² ]*?[\d)²]) = "
    rf"((?>{PART}))(?! ?[×·/+−^])( ?%| percent)?"
)
SIGNS = {",": "", "×": "*", "·": "*", "−": "-", "^": "**", "²": "**2"}
LEAST_EQUATIONS = 100


def texts_of(name, language):
    """All that a student reads of an item: the question, its options, and the reasons."""
    item, key = EVERY[name], KEYS[name]
    return [
        item.question[language],
        *item.options[language].values(),
        *key.why[language].values(),
        key.how.get(language, ""),
    ]


def equations_of(text):
    """What stands on both sides of each equation that has numbers alone."""
    for left, right, percent in EQUATION.findall(text):
        while left.count(")") > left.count("("):  # the end of something that is no number
            left = left.partition(")")[2].lstrip(" ×/+−·")
        if any(sign in left for sign in "×/+−·"):
            yield left, right, 100 if percent else 1


def evaluated(left):
    for sign, python in SIGNS.items():
        left = left.replace(sign, python)
    assert re.fullmatch(r"[\d.()*/+\- ]+", left), left
    return eval(left)


def is_rounded_to(value, written):
    """Whether a value, rounded as it is written, is what stands there; zeros may be rounded off."""
    digits = written.replace(",", "")
    stated, n_decimals = float(digits), len(digits.partition(".")[2])
    if abs(value - stated) <= 0.5000001 * 10**-n_decimals:
        return True
    n_kept = len(digits.rstrip("0"))
    is_whole = n_decimals == 0 and 2 <= n_kept < len(digits) and value > 0
    return is_whole and round(value, n_kept - 1 - floor(log10(value))) == stated


def known_of(name):
    """The numbers that an item may state."""
    copied = [item.number_in_bold(option)
              for item in [EVERY[name]] if item.kind == "audit"
              for option in KEYS[name].right]  # fmt: skip
    computed = COMPUTED[name]().values() if name in COMPUTED else []
    read = RECORDS[name]() if name in RECORDS else []
    typed = [*PAPERS.get(name, []), *CHOSEN.get(name, []), *DERIVED.get(name, [])]
    return [*copied, *computed, *read, *typed]


@pytest.mark.parametrize("name", EVERY)
def test_every_number_comes_from_a_paper_a_record_or_a_computation(name):
    """All but numbers below ten, which count: tokens, turns, drafts."""
    known = known_of(name)
    for language in LANGUAGES:
        for text in texts_of(name, language):
            results = [evaluated(left) * factor for left, _, factor in equations_of(text)]
            for written in NUMBER.findall(PLACE.sub(" ", text)):
                number = written.rstrip(",")
                is_count = "." not in number and float(number.replace(",", "")) < 10
                assert is_count or any(is_rounded_to(value, number) for value in known + results), (
                    f"{number} in {text!r}"
                )


def test_every_equation_of_the_reasons_holds():
    n_equations = 0
    for name in EVERY:
        for language in LANGUAGES:
            for text in texts_of(name, language):
                for left, right, factor in equations_of(text):
                    value = evaluated(left) * factor
                    assert is_rounded_to(value, right), (name, left, right, value)
                    n_equations += 1
    assert n_equations >= LEAST_EQUATIONS


def test_a_wrong_number_is_seen():
    assert not is_rounded_to(5.71, "5.72") and not is_rounded_to(157.7, "170")
    assert is_rounded_to(157_783, "160,000") and is_rounded_to(4.0, "4.00")
    (found,) = equations_of("so 1.0 + 0.5 × (97.0 − 90) / (97.0 − 65.5) = 1.11 requests")
    assert is_rounded_to(evaluated(found[0]), "1.11") and not is_rounded_to(
        evaluated(found[0]), "1.21"
    )
    assert [*equations_of("MNd / 8,192 = 1,024")] == [*equations_of("382 = 23 × 16")] == []
